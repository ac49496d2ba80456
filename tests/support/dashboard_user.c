#include "tests/support/dashboard_user.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "common/base/clock.h"
#include "common/base/uuid.h"
#include "proto/subject.h"

struct service_client *service_connection;

void service_connection_open(void)
{
    api_open();
    service_connection = service_client_open();
}

void service_connection_close(void)
{
    service_client_close(service_connection);
}

const char *dashboard_user_address(void)
{
    struct uuid id = uuid_v7(clock_us());

    /* Not as a program would write it: with a zero that leads. */
    return format("2001:db8:%04x:%04x::1", (unsigned)((id.b[12] & 0x0f) << 8 | id.b[13]),
                  (unsigned)(id.b[14] << 8 | id.b[15]));
}

json_t *dashboard_user_create(struct service_client *client, const char *org, const char *email,
                              const char *role)
{
    return service_client_get(
        client, SUBJECT_SESSION_USER_CREATE, org,
        "{\"email\":\"%s\",\"role\":\"%s\",\"password\":\"" USER_PASSWORD "\"}", email, role);
}

static void join(struct service_client *client, const struct org *org, struct dashboard_user *user,
                 const char *name, const char *role)
{
    user->org = *org;
    snprintf(user->email, sizeof(user->email), "%s%s@example.org", name, org->id);
    snprintf(user->address, sizeof(user->address), "%s", dashboard_user_address());
    snprintf(user->id, sizeof(user->id), "%s",
             reply_text(dashboard_user_create(client, org->id, user->email, role), "id"));
}

void dashboard_user_new(struct service_client *client, struct dashboard_user *user,
                        const char *role)
{
    struct org org;

    org_new(&org);
    join(client, &org, user, "", role);
}

void dashboard_user_join(struct service_client *client, const struct dashboard_user *first,
                         struct dashboard_user *user, const char *name, const char *role)
{
    join(client, &first->org, user, name, role);
}

struct service_reply dashboard_user_sign_in(struct service_client *client,
                                            const struct dashboard_user *user, const char *email,
                                            const char *password)
{
    return service_client_call(client, SUBJECT_SESSION_SIGN_IN, NULL,
                               "{\"email\":\"%s\",\"password\":\"%s\",\"address\":\"%s\","
                               "\"user_agent\":\"Browser/1\"}",
                               email, password, user->address);
}

const char *dashboard_user_session(struct service_client *client, const struct dashboard_user *user)
{
    const struct service_reply reply =
        dashboard_user_sign_in(client, user, user->email, USER_PASSWORD);

    cr_assert_eq(reply.outcome, OUTCOME_OK, "%s", outcome_name(reply.outcome));
    return reply_text(reply.body, "session");
}

struct service_reply dashboard_user_session_check(struct service_client *client, const char *token)
{
    return service_client_call(client, SUBJECT_ACCESS_SESSION_CHECK, NULL,
                               "{\"token_hash\":\"%s\"}", token_hash_hex(token));
}

bool dashboard_user_session_is_good(struct service_client *client, const char *token)
{
    const struct service_reply reply = dashboard_user_session_check(client, token);

    cr_assert(reply.outcome == OUTCOME_OK || reply.outcome == OUTCOME_UNAUTHORIZED);
    return reply.outcome == OUTCOME_OK;
}
