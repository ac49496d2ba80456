/*
 * desk - the dashboard over HTTP, as a browser's pages ask it.
 *
 * What     A seat is a user who has signed in; desk_send() adds what a page of the dashboard sends
 *          with a request, unless the test says otherwise. What holds for every answer is checked
 *          right here: the headers that protect pages and data, and that nothing ever redirects.
 * Owns     Answers live until the process ends (http.h).
 * Threads  The test's main thread.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_DESK_H
#define TESTS_SUPPORT_DESK_H

#include "tests/support/api.h"

struct seat {
    char organization_id[37];
    char user_id[37];
    char email[80];
    char password[80];
    char token[64];
    char csrf[80];
};

struct desk_request {
    const char *method; /* NULL = GET */
    const char *path;
    const char *body;
    const struct seat *seat; /* NULL = nobody */
    /* NULL = what a page sends where one sends it; "" = none. */
    const char *origin, *csrf, *type, *cookie;
    const char *const *headers; /* more of them, NULL-terminated */
    const char *from;           /* http.h */
};

struct answer *desk_send(const struct desk_request *request);
/* The same as a page does it. */
struct answer *desk_get(const struct seat *seat, const char *path);
struct answer *desk_do(const struct seat *seat, const char *method, const char *path,
                       const char *body);

/* A new user of the organization, who signs in. */
void desk_sit(struct seat *seat, const char *organization_id, const char *role);
/* Signs in once more: another session of the same user. */
void desk_sit_again(const struct seat *seat, struct seat *again);
struct answer *desk_sign_in(const char *email, const char *password, const char *cookie);

/* The value of the cookie that an answer sets, without its attributes; NULL = none. */
const char *desk_cookie(const struct answer *answer);

/* How much has changed in the organization so far, by its trail of changes. */
long long desk_changes(const char *organization_id);

#endif
