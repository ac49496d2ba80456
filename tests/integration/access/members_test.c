/* The users of an organization: who may invite, change and remove whom; an owner always remains. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "proto/subject.h"
#include "tests/support/api_client.h"
#include "tests/support/changes.h"
#include "tests/support/never_free.h"
#include "tests/support/service_client.h"
#include "tests/support/sql.h"

TestSuite(members, .init = service_connection_open, .fini = service_connection_close);

static enum outcome set(const struct dashboard_user *user, const char *role, const char *by_role)
{
    return service_client_call(service_connection, SUBJECT_ACCESS_MEMBER_SET, user->org.id,
                               "{\"id\":\"%s\",\"role\":\"%s\",\"by_role\":\"%s\"}", user->id, role,
                               by_role)
        .outcome;
}

static enum outcome remove_by(const struct dashboard_user *user, const char *by_role)
{
    return service_client_call(service_connection, SUBJECT_ACCESS_MEMBER_REMOVE, user->org.id,
                               "{\"id\":\"%s\",\"by_role\":\"%s\"}", user->id, by_role)
        .outcome;
}

static struct service_reply invite(const char *org, const char *email, const char *role,
                                   const char *by_role)
{
    return service_client_call(service_connection, SUBJECT_ACCESS_MEMBER_INVITE, org,
                               "{\"email\":\"%s\",\"role\":\"%s\",\"by_role\":\"%s\"}", email, role,
                               by_role);
}

static struct service_reply accept(struct service_client *client, const char *invitation,
                                   const char *password)
{
    return service_client_call(client, SUBJECT_SESSION_ACCEPT_INVITATION, NULL,
                               "{\"token\":\"%s\",\"password\":\"%s\",\"address\":\"%s\","
                               "\"user_agent\":\"Browser/1\"}",
                               invitation, password, dashboard_user_address());
}

/* -- invitations ------------------------------------------------------------------------------- */

Test(members, that_are_invited_choose_a_password_and_are_signed_in)
{
    struct dashboard_user ada;
    struct service_reply reply;
    const char *invitation, *email;
    json_t *list;

    dashboard_user_new(service_connection, &ada, "owner");
    email = format("bob-%s@example.org", ada.org.id);
    reply = invite(ada.org.id, email, "member", "admin");
    cr_assert_eq(reply.outcome, OUTCOME_OK);
    invitation = reply_text(reply.body, "invitation");
    cr_assert_eq(sql_integer("SELECT count(*) FROM access.users u WHERE organization_id = $1::uuid"
                             " AND u::text ~ $2",
                             ada.org.id, invitation, NULL),
                 0, "only its hash is kept");
    list = service_client_get(service_connection, SUBJECT_ACCESS_MEMBER_LIST, ada.org.id, "%s", "");
    cr_assert_eq(json_array_size(json_object_get(list, "members")), 2);
    cr_assert(json_is_true(
        json_object_get(json_array_get(json_object_get(list, "members"), 0), "invited")));
    cr_assert_eq(dashboard_user_sign_in(service_connection, &ada, email, "").outcome,
                 OUTCOME_PARAMETER_INVALID);
    cr_assert_eq(dashboard_user_sign_in(service_connection, &ada, email, USER_PASSWORD).outcome,
                 OUTCOME_UNAUTHORIZED);
    reply = accept(service_connection, invitation, USER_PASSWORD);
    cr_assert_eq(reply.outcome, OUTCOME_OK);
    cr_assert_str_eq(reply_text(reply.body, "user.role"), "member");
    cr_assert(
        dashboard_user_session_is_good(service_connection, reply_text(reply.body, "session")));
    cr_assert_eq(dashboard_user_sign_in(service_connection, &ada, email, USER_PASSWORD).outcome,
                 OUTCOME_OK);
    cr_assert_eq(accept(service_connection, invitation, USER_PASSWORD).outcome,
                 OUTCOME_UNAUTHORIZED, "used");
    changes_await(ada.org.id);
    cr_assert_eq(sql_integer("SELECT count(*) FROM audit.changes WHERE organization_id = $1::uuid"
                             " AND (change = 'invitation.accept' AND who = $2"
                             " OR change = 'member.invite' AND detail->>'email' = $2"
                             " AND detail::text !~ $3)",
                             ada.org.id, email, invitation, NULL),
                 2);
}

Test(members, cannot_use_an_invitation_that_is_over_or_replaced)
{
    struct org org;
    struct service_reply first, second;

    org_new(&org);
    first = invite(org.id, "bob@example.org", "member", "admin");
    second = invite(org.id, "bob@example.org", "admin", "admin");
    cr_assert_str_eq(reply_text(first.body, "id"), reply_text(second.body, "id"));
    cr_assert_eq(
        accept(service_connection, reply_text(first.body, "invitation"), USER_PASSWORD).outcome,
        OUTCOME_UNAUTHORIZED);
    sql_text("UPDATE access.users SET invitation_expires_at = now() WHERE user_id = $1::uuid"
             " RETURNING 'x'",
             reply_text(second.body, "id"), NULL);
    cr_assert_eq(
        accept(service_connection, reply_text(second.body, "invitation"), USER_PASSWORD).outcome,
        OUTCOME_UNAUTHORIZED);
}

static void *accept_too(void *invitation)
{
    struct service_client *mine = service_client_open();
    struct service_reply *reply = never_free(calloc(1, sizeof(*reply)));

    *reply = accept(mine, invitation, "another password");
    service_client_close(mine);
    return reply;
}

Test(members, accept_an_invitation_once_also_when_two_try_at_the_same_time)
{
    struct org org;
    struct service_reply mine, *other;
    void *joined;
    pthread_t thread;
    char *invitation;

    org_new(&org);
    invitation = format(
        "%s", reply_text(invite(org.id, "b@example.org", "admin", "owner").body, "invitation"));
    cr_assert_eq(pthread_create(&thread, NULL, accept_too, invitation), 0);
    mine = accept(service_connection, invitation, USER_PASSWORD);
    pthread_join(thread, &joined);
    other = joined;
    cr_assert_neq(mine.outcome, other->outcome);
    cr_assert(mine.outcome == OUTCOME_UNAUTHORIZED || other->outcome == OUTCOME_UNAUTHORIZED);
    cr_assert_eq(sql_integer("SELECT count(*) FROM access.sessions WHERE organization_id ="
                             " $1::uuid",
                             org.id, NULL),
                 1);
}

Test(members, are_invited_only_with_a_role_that_the_inviter_may_give)
{
    struct dashboard_user ada;
    struct service_reply reply;

    dashboard_user_new(service_connection, &ada, "owner");
    cr_assert_eq(invite(ada.org.id, "x@example.org", "member", "member").outcome,
                 OUTCOME_INSUFFICIENT_ROLE);
    cr_assert_eq(invite(ada.org.id, "x@example.org", "owner", "admin").outcome,
                 OUTCOME_INSUFFICIENT_ROLE);
    cr_assert_eq(invite(ada.org.id, ada.email, "member", "owner").outcome, OUTCOME_CONFLICT);
    reply = invite(ada.org.id, "x@example.org", "owner", "owner");
    cr_assert_eq(reply.outcome, OUTCOME_OK);
    cr_assert_eq(invite(ada.org.id, "x@example.org", "member", "admin").outcome,
                 OUTCOME_INSUFFICIENT_ROLE, "an admin cannot replace an owner's invitation");
    cr_assert_eq(remove_by(&ada, "owner"), OUTCOME_LAST_OWNER, "an invited owner does not count");
    cr_assert_eq(
        accept(service_connection, reply_text(reply.body, "invitation"), USER_PASSWORD).outcome,
        OUTCOME_OK);
    cr_assert_eq(remove_by(&ada, "owner"), OUTCOME_OK);
}

/* -- roles ------------------------------------------------------------------------------------- */

Test(members, change_role_at_once_and_end_when_removed)
{
    struct dashboard_user ada, bob;
    const char *token;
    json_t *list;

    dashboard_user_new(service_connection, &ada, "owner");
    dashboard_user_join(service_connection, &ada, &bob, "bob", "admin");
    token = dashboard_user_session(service_connection, &bob);
    cr_assert_eq(set(&bob, "member", "admin"), OUTCOME_OK);
    cr_assert_str_eq(
        reply_text(dashboard_user_session_check(service_connection, token).body, "user.role"),
        "member");
    list = service_client_get(service_connection, SUBJECT_ACCESS_MEMBER_LIST, ada.org.id, "%s", "");
    cr_assert_gt(reply_integer(list, "members[0].last_seen_at"), 0);
    cr_assert_eq(remove_by(&bob, "admin"), OUTCOME_OK);
    cr_assert_not(dashboard_user_session_is_good(service_connection, token));
    cr_assert_eq(dashboard_user_sign_in(service_connection, &bob, bob.email, USER_PASSWORD).outcome,
                 OUTCOME_UNAUTHORIZED);
    cr_assert_eq(remove_by(&bob, "admin"), OUTCOME_NOT_FOUND);
}

Test(members, of_the_role_owner_are_owners_business)
{
    struct dashboard_user ada, bob;

    dashboard_user_new(service_connection, &ada, "owner");
    dashboard_user_join(service_connection, &ada, &bob, "bob", "member");
    cr_expect_eq(set(&bob, "owner", "admin"), OUTCOME_INSUFFICIENT_ROLE);
    cr_expect_eq(set(&ada, "admin", "admin"), OUTCOME_INSUFFICIENT_ROLE);
    cr_expect_eq(remove_by(&ada, "admin"), OUTCOME_INSUFFICIENT_ROLE);
    cr_expect_eq(remove_by(&bob, "member"), OUTCOME_INSUFFICIENT_ROLE);
    cr_expect_eq(set(&bob, "admin", "member"), OUTCOME_INSUFFICIENT_ROLE);
    cr_expect_eq(set(&bob, "owner", "owner"), OUTCOME_OK);
    cr_expect_eq(set(&ada, "admin", "owner"), OUTCOME_OK);
    cr_expect_eq(set(&bob, "admin", "owner"), OUTCOME_LAST_OWNER);
    cr_expect_eq(remove_by(&bob, "owner"), OUTCOME_LAST_OWNER);
}

Test(members, of_other_organizations_are_out_of_reach)
{
    struct dashboard_user ada, eve;

    dashboard_user_new(service_connection, &ada, "member");
    dashboard_user_new(service_connection, &eve, "owner");
    snprintf(eve.id, sizeof(eve.id), "%s", ada.id);
    cr_assert_eq(set(&eve, "admin", "owner"), OUTCOME_NOT_FOUND);
    cr_assert_eq(remove_by(&eve, "owner"), OUTCOME_NOT_FOUND);
}

/* -- the last owner ---------------------------------------------------------------------------- */

enum { ROUNDS = 12 };

struct attempt {
    const struct dashboard_user *user;
    pthread_barrier_t *both;
    bool removes;
    enum outcome outcome;
};

static void *take_away(void *closure)
{
    struct service_client *mine = service_client_open();
    struct attempt *attempt = closure;
    const char *subject =
        attempt->removes ? SUBJECT_ACCESS_MEMBER_REMOVE : SUBJECT_ACCESS_MEMBER_SET;

    pthread_barrier_wait(attempt->both);
    attempt->outcome =
        service_client_call(mine, subject, attempt->user->org.id,
                            attempt->removes
                                ? "{\"id\":\"%s\",\"by_role\":\"owner\"}"
                                : "{\"id\":\"%s\",\"role\":\"admin\",\"by_role\":\"owner\"}",
                            attempt->user->id)
            .outcome;
    service_client_close(mine);
    return NULL;
}

static int64_t owners(const struct dashboard_user *user)
{
    return sql_integer("SELECT count(*) FROM access.users WHERE organization_id = $1::uuid"
                       " AND role = 'owner'",
                       user->org.id, NULL);
}

Test(members, keep_an_owner_when_two_take_the_role_from_each_other_at_once)
{
    pthread_barrier_t both;
    struct dashboard_user owner[2];

    cr_assert_eq(pthread_barrier_init(&both, NULL, 2), 0);
    dashboard_user_new(service_connection, &owner[0], "owner");
    for (int i = 0; i < ROUNDS; i++) {
        struct attempt attempts[2] = {{.user = &owner[0], .both = &both, .removes = i % 2 != 0},
                                      {.user = &owner[1], .both = &both}};
        pthread_t other;

        dashboard_user_join(service_connection, &owner[0], &owner[1], format("%d-", i), "owner");
        cr_assert_eq(pthread_create(&other, NULL, take_away, &attempts[1]), 0);
        take_away(&attempts[0]);
        pthread_join(other, NULL);
        cr_assert_eq(owners(&owner[0]), 1, "one of two");
        cr_assert_neq(attempts[0].outcome, attempts[1].outcome);
        for (int j = 0; j < 2; j++)
            cr_assert(attempts[j].outcome == OUTCOME_OK ||
                      attempts[j].outcome == OUTCOME_LAST_OWNER);
        if (attempts[0].outcome == OUTCOME_OK)
            owner[0] = owner[1];
    }
    pthread_barrier_destroy(&both);
}

Test(members, keep_an_owner_even_in_the_database_itself)
{
    static const char check_violation[] = "23514";
    struct dashboard_user ada;

    dashboard_user_new(service_connection, &ada, "owner");
    cr_expect_str_eq(
        sql_state_as("conv_access",
                     format("DELETE FROM access.users WHERE organization_id = '%s'", ada.org.id)),
        check_violation);
    cr_expect_str_eq(sql_state_as(NULL, format("UPDATE access.users SET role = 'admin'"
                                               " WHERE organization_id = '%s'",
                                               ada.org.id)),
                     check_violation);
    cr_expect_eq(owners(&ada), 1);
}

/* -- the editor of a policy -------------------------------------------------------------------- */

Test(members, are_asked_before_they_lock_themselves_out)
{
    struct org org;

    org_new(&org);
    cr_expect_eq(
        service_client_call(service_connection, SUBJECT_ACCESS_POLICY_SET, org.id,
                            "{\"ip_allowlist_enabled\":true,\"ip_allowlist\":[\"192.0.2.1\"],"
                            "\"editor_address\":\"192.0.2.2\"}")
            .outcome,
        OUTCOME_WOULD_LOCK_OUT);
    cr_expect_eq(
        service_client_call(service_connection, SUBJECT_ACCESS_POLICY_SET, org.id,
                            "{\"ip_allowlist_enabled\":true,\"editor_address\":\"192.0.2.2\"}")
            .outcome,
        OUTCOME_PARAMETER_INVALID, "an empty list is refused despite the confirmation");
    cr_expect_eq(
        service_client_call(service_connection, SUBJECT_ACCESS_POLICY_SET, org.id,
                            "{\"ip_allowlist\":[\"192.0.2.1\"],\"editor_address\":\"192.0.2.2\"}")
            .outcome,
        OUTCOME_OK, "it is not on");
    cr_expect_eq(service_client_call(service_connection, SUBJECT_ACCESS_POLICY_SET, org.id,
                                     "{\"ip_allowlist_enabled\":true,"
                                     "\"editor_address\":\"::ffff:192.0.2.1\"}")
                     .outcome,
                 OUTCOME_OK, "one address in two spellings");
    cr_expect_eq(
        service_client_call(service_connection, SUBJECT_ACCESS_POLICY_SET, org.id,
                            "{\"ip_allowlist\":[\"192.0.2.9\"],\"editor_address\":\"192.0.2.2\","
                            "\"confirmed\":true}")
            .outcome,
        OUTCOME_OK);
}
