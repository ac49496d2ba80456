/*
 * user - people who sign in to the dashboard, as it asks for them.
 *
 * Threads  As the link's.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_USER_H
#define TESTS_SUPPORT_USER_H

#include "tests/support/api.h"
#include "tests/support/caller.h"

#define USER_PASSWORD "correct horse battery"

struct user {
    struct org org;
    char id[37], email[64], address[40];
};

/* An address that no other test uses: attempts are counted by it. */
const char *user_address(void);

/* The user with USER_PASSWORD. */
json_t *user_create(struct caller_link *link, const char *org, const char *email, const char *role);
/* One in an organization of its own. */
void user_new(struct caller_link *link, struct user *user, const char *role);
/* A further one in the same organization; `name` makes the email. */
void user_join(struct caller_link *link, const struct user *first, struct user *user,
               const char *name, const char *role);

struct said user_sign_in(struct caller_link *link, const struct user *user, const char *email,
                         const char *password);
/* A new session's token. */
const char *user_session(struct caller_link *link, const struct user *user);
struct said user_session_check(struct caller_link *link, const char *token);
bool user_session_is_good(struct caller_link *link, const char *token);

#endif
