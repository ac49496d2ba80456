/*
 * dashboard_client - requests to the dashboard over HTTP, as a browser's pages send them.
 *
 * What     dashboard_client_send() adds the headers that a page of the dashboard sends, unless the
 *          test gives others. For every response it checks the headers that protect pages and data,
 *          and that it does not redirect.
 * Owns     Responses live until the process ends (http_client.h).
 * Threads  The test's main thread.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_DASHBOARD_CLIENT_H
#define TESTS_SUPPORT_DASHBOARD_CLIENT_H

#include "tests/support/api_client.h"

struct dashboard_session {
    char organization_id[37];
    char user_id[37];
    char email[80];
    char password[80];
    char token[64];
    char csrf[80];
};

struct dashboard_client_request {
    const char *method; /* NULL = GET */
    const char *path;
    const char *body;
    const struct dashboard_session *session; /* NULL = not signed in */
    /* NULL = what a page would send; "" = none. */
    const char *origin, *csrf, *type, *cookie;
    const char *const *headers; /* additional ones, NULL-terminated */
    const char *from;           /* http_client.h */
};

struct client_response *dashboard_client_send(const struct dashboard_client_request *request);
/* The same, as a page sends it. */
struct client_response *dashboard_client_get(const struct dashboard_session *session,
                                             const char *path);
struct client_response *dashboard_client_change(const struct dashboard_session *session,
                                                const char *method, const char *path,
                                                const char *body);

/* Creates a user of the organization and signs in. */
void dashboard_client_new_user(struct dashboard_session *session, const char *organization_id,
                               const char *role);
/* Signs in again: another session of the same user. */
void dashboard_client_new_session(const struct dashboard_session *session,
                                  struct dashboard_session *again);
struct client_response *dashboard_client_sign_in(const char *email, const char *password,
                                                 const char *cookie);

/* The value of the cookie that a response sets, without its attributes; NULL = none. */
const char *dashboard_client_cookie(const struct client_response *response);

/* The number of the organization's recorded changes. */
long long dashboard_client_count_changes(const char *organization_id);

#endif
