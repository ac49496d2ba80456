#include "tests/support/user.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "common/base/clock.h"
#include "common/base/uuid.h"
#include "proto/subject.h"

const char *user_address(void)
{
    struct uuid id = uuid_v7(clock_us());

    return format("2001:db8:%04x:%04x::1", (unsigned)(id.b[12] << 8 | id.b[13]),
                  (unsigned)(id.b[14] << 8 | id.b[15]));
}

json_t *user_create(struct caller_link *link, const char *org, const char *email, const char *role)
{
    return caller_get(link, SUBJECT_SESSION_USER_CREATE, org,
                      "{\"email\":\"%s\",\"role\":\"%s\",\"password\":\"" USER_PASSWORD "\"}",
                      email, role);
}

static void join(struct caller_link *link, const struct org *org, struct user *user,
                 const char *name, const char *role)
{
    user->org = *org;
    snprintf(user->email, sizeof(user->email), "%s%s@example.org", name, org->id);
    snprintf(user->address, sizeof(user->address), "%s", user_address());
    snprintf(user->id, sizeof(user->id), "%s",
             said_text(user_create(link, org->id, user->email, role), "id"));
}

void user_new(struct caller_link *link, struct user *user, const char *role)
{
    struct org org;

    org_new(&org);
    join(link, &org, user, "", role);
}

void user_join(struct caller_link *link, const struct user *first, struct user *user,
               const char *name, const char *role)
{
    join(link, &first->org, user, name, role);
}

struct said user_sign_in(struct caller_link *link, const struct user *user, const char *email,
                         const char *password)
{
    return caller_ask(link, SUBJECT_SESSION_SIGN_IN, NULL,
                      "{\"email\":\"%s\",\"password\":\"%s\",\"address\":\"%s\","
                      "\"user_agent\":\"Browser/1\"}",
                      email, password, user->address);
}

const char *user_session(struct caller_link *link, const struct user *user)
{
    const struct said said = user_sign_in(link, user, user->email, USER_PASSWORD);

    cr_assert_eq(said.outcome, OUTCOME_OK, "%s", outcome_name(said.outcome));
    return said_text(said.body, "session");
}

struct said user_session_check(struct caller_link *link, const char *token)
{
    return caller_ask(link, SUBJECT_ACCESS_SESSION_CHECK, NULL, "{\"token_hash\":\"%s\"}",
                      said_hash(token));
}

bool user_session_is_good(struct caller_link *link, const char *token)
{
    const struct said said = user_session_check(link, token);

    cr_assert(said.outcome == OUTCOME_OK || said.outcome == OUTCOME_UNAUTHORIZED);
    return said.outcome == OUTCOME_OK;
}
