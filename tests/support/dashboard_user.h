/*
 * dashboard_user - users of the dashboard: creates them and signs them in, by commands.
 *
 * Threads  As service_client.h.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_DASHBOARD_USER_H
#define TESTS_SUPPORT_DASHBOARD_USER_H

#include "tests/support/api_client.h"
#include "tests/support/service_client.h"

#define USER_PASSWORD "correct horse battery"

struct dashboard_user {
    struct org org;
    char id[37], email[64], address[40];
};

/* The connection of a test; opened and closed by the suite, which shares the stack. */
extern struct service_client *service_connection;
void service_connection_open(void);
void service_connection_close(void);

/* An address that no other test uses, because attempts are counted by address. */
const char *dashboard_user_address(void);

/* The user with USER_PASSWORD. */
json_t *dashboard_user_create(struct service_client *client, const char *org, const char *email,
                              const char *role);
/* One in a separate organization. */
void dashboard_user_new(struct service_client *client, struct dashboard_user *user,
                        const char *role);
/* A further one in the same organization; `name` makes the email. */
void dashboard_user_join(struct service_client *client, const struct dashboard_user *first,
                         struct dashboard_user *user, const char *name, const char *role);

struct service_reply dashboard_user_sign_in(struct service_client *client,
                                            const struct dashboard_user *user, const char *email,
                                            const char *password);
/* A new session's token. */
const char *dashboard_user_session(struct service_client *client,
                                   const struct dashboard_user *user);
struct service_reply dashboard_user_session_check(struct service_client *client, const char *token);
bool dashboard_user_session_is_good(struct service_client *client, const char *token);

#endif
