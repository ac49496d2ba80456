/* Sessions of the dashboard's users: how they are stored, how long they last, what ends them.
   sign_in_test.c tests how they begin. */
#include <criterion/criterion.h>
#include <string.h>

#include "proto/subject.h"
#include "tests/support/service_client.h"
#include "tests/support/sql.h"

TestSuite(sessions, .init = service_connection_open, .fini = service_connection_close);

/* -- storage and lifetime ---------------------------------------------------------------------- */

Test(sessions, are_stored_only_as_a_hash)
{
    struct dashboard_user ada;
    const char *token;

    dashboard_user_new(service_connection, &ada, "member");
    token = dashboard_user_session(service_connection, &ada);
    cr_assert_eq(sql_integer("SELECT count(*) FROM access.sessions WHERE user_id = $1::uuid AND"
                             " token_hash = sha256($2::text::bytea) AND sessions::text !~ $2",
                             ada.id, token, NULL),
                 1);
}

/* Moves a user's sessions into the past. */
static void age(const struct dashboard_user *user, const char *made, const char *seen)
{
    cr_assert_not_null(
        sql_text("UPDATE access.sessions SET created_at = now() - $2::interval,"
                 " last_seen_at = now() - $3::interval WHERE user_id = $1::uuid RETURNING 'x'",
                 user->id, made, seen, NULL));
}

Test(sessions, end_after_twelve_hours_without_use_or_seven_days)
{
    struct dashboard_user ada;
    const char *token;

    dashboard_user_new(service_connection, &ada, "admin");
    token = dashboard_user_session(service_connection, &ada);
    age(&ada, "11:59:00", "11:59:00");
    cr_assert(dashboard_user_session_is_good(service_connection, token), "used in time");
    cr_assert_eq(sql_integer("SELECT count(*) FROM access.sessions WHERE user_id = $1::uuid AND"
                             " last_seen_at > now() - interval '1 minute'",
                             ada.id, NULL),
                 1, "and noted as used");
    age(&ada, "12:01:00", "12:00:01");
    cr_assert_not(dashboard_user_session_is_good(service_connection, token));
    /* A new one, since upkeep may have removed the other by now. */
    token = dashboard_user_session(service_connection, &ada);
    age(&ada, "167:59:00", "0");
    cr_assert(dashboard_user_session_is_good(service_connection, token));
    age(&ada, "168:00:01", "0");
    cr_assert_not(dashboard_user_session_is_good(service_connection, token));
}

Test(sessions, are_noted_as_seen_once_a_minute)
{
    static const char seen[] = "SELECT last_seen_at::text FROM access.sessions"
                               " WHERE user_id = $1::uuid";
    struct dashboard_user ada;
    const char *token, *before;

    dashboard_user_new(service_connection, &ada, "admin");
    token = dashboard_user_session(service_connection, &ada);
    before = sql_text(seen, ada.id, NULL);
    cr_assert(dashboard_user_session_is_good(service_connection, token));
    cr_assert_str_eq(sql_text(seen, ada.id, NULL), before);
}

Test(sessions, are_a_hundred_a_user_at_most)
{
    struct dashboard_user ada;
    const char *first, *latest;

    dashboard_user_new(service_connection, &ada, "admin");
    first = dashboard_user_session(service_connection, &ada);
    sql_text("INSERT INTO access.sessions (organization_id, session_id, user_id, token_hash,"
             " address, user_agent) SELECT $1::uuid, gen_random_uuid(), $2::uuid,"
             " sha256(n::text::bytea), '::1', '' FROM generate_series(1, 99) AS n RETURNING 'x'",
             ada.org.id, ada.id, NULL);
    cr_assert(dashboard_user_session_is_good(service_connection, first));
    latest = dashboard_user_session(service_connection, &ada);
    cr_assert_eq(
        sql_integer("SELECT count(*) FROM access.sessions WHERE user_id = $1::uuid", ada.id, NULL),
        100);
    cr_assert(dashboard_user_session_is_good(service_connection, latest));
    cr_assert_not(dashboard_user_session_is_good(service_connection, first),
                  "the least recently used session has ended");
}

/* -- what ends them ---------------------------------------------------------------------------- */

Test(sessions, end_one_by_one_or_all_at_once)
{
    struct dashboard_user ada;
    const char *here, *there, *third;
    json_t *list;
    const char *other_id;

    dashboard_user_new(service_connection, &ada, "admin");
    here = dashboard_user_session(service_connection, &ada);
    there = dashboard_user_session(service_connection, &ada);
    list = service_client_get(service_connection, SUBJECT_ACCESS_SESSION_LIST, ada.org.id,
                              "{\"user_id\":\"%s\",\"token_hash\":\"%s\"}", ada.id,
                              token_hash_hex(here));
    cr_assert_eq(json_array_size(json_object_get(list, "sessions")), 2);
    cr_assert_str_eq(reply_text(list, "sessions[0].user_agent"), "Browser/1");
    cr_assert(json_is_false(
        json_object_get(json_array_get(json_object_get(list, "sessions"), 0), "current")));
    other_id = reply_text(list, "sessions[0].id");
    cr_assert_eq(
        reply_integer(service_client_get(service_connection, SUBJECT_ACCESS_SESSION_END, ada.org.id,
                                         "{\"user_id\":\"%s\",\"id\":\"%s\"}", ada.id, other_id),
                      "ended"),
        1);
    cr_assert_not(dashboard_user_session_is_good(service_connection, there));
    cr_assert(dashboard_user_session_is_good(service_connection, here));
    service_client_get(service_connection, SUBJECT_ACCESS_SESSION_END, NULL,
                       "{\"token_hash\":\"%s\"}", token_hash_hex(here));
    cr_assert_not(dashboard_user_session_is_good(service_connection, here));
    here = dashboard_user_session(service_connection, &ada);
    third = dashboard_user_session(service_connection, &ada);
    cr_assert_eq(
        reply_integer(service_client_get(service_connection, SUBJECT_ACCESS_SESSION_END_ALL,
                                         ada.org.id, "{\"user_id\":\"%s\"}", ada.id),
                      "ended"),
        2);
    cr_assert_not(dashboard_user_session_is_good(service_connection, here) ||
                  dashboard_user_session_is_good(service_connection, third));
}

Test(sessions, of_others_are_out_of_reach)
{
    struct dashboard_user ada, eve;
    const char *token;
    json_t *list;

    dashboard_user_new(service_connection, &ada, "owner");
    dashboard_user_new(service_connection, &eve, "owner");
    token = dashboard_user_session(service_connection, &ada);
    list = service_client_get(service_connection, SUBJECT_ACCESS_SESSION_LIST, ada.org.id,
                              "{\"user_id\":\"%s\",\"token_hash\":\"%s\"}", ada.id,
                              token_hash_hex(token));
    cr_assert_eq(reply_integer(service_client_get(service_connection, SUBJECT_ACCESS_SESSION_END,
                                                  eve.org.id, "{\"user_id\":\"%s\",\"id\":\"%s\"}",
                                                  ada.id, reply_text(list, "sessions[0].id")),
                               "ended"),
                 0);
    cr_assert_eq(
        reply_integer(service_client_get(service_connection, SUBJECT_ACCESS_SESSION_END_ALL,
                                         eve.org.id, "{\"user_id\":\"%s\"}", ada.id),
                      "ended"),
        0);
    cr_assert(dashboard_user_session_is_good(service_connection, token));
}

Test(sessions, other_than_this_one_end_with_the_password)
{
    static const char body[] = "{\"user_id\":\"%s\",\"password\":\"%s\",\"new_password\":\"%s\","
                               "\"keep\":\"%s\"}";
    struct dashboard_user ada;
    const char *here, *there;

    dashboard_user_new(service_connection, &ada, "member");
    here = dashboard_user_session(service_connection, &ada);
    there = dashboard_user_session(service_connection, &ada);
    cr_assert_eq(service_client_call(service_connection, SUBJECT_SESSION_CHANGE_PASSWORD,
                                     ada.org.id, body, ada.id, "wrong", "a new one of length",
                                     token_hash_hex(here))
                     .outcome,
                 OUTCOME_PARAMETER_INVALID);
    cr_assert(dashboard_user_session_is_good(service_connection, there));
    cr_assert_eq(
        reply_integer(service_client_get(service_connection, SUBJECT_SESSION_CHANGE_PASSWORD,
                                         ada.org.id, body, ada.id, USER_PASSWORD,
                                         "a new one of length", token_hash_hex(here)),
                      "ended"),
        1);
    cr_assert(dashboard_user_session_is_good(service_connection, here));
    cr_assert_not(dashboard_user_session_is_good(service_connection, there));
    cr_assert_eq(dashboard_user_sign_in(service_connection, &ada, ada.email, USER_PASSWORD).outcome,
                 OUTCOME_UNAUTHORIZED);
    cr_assert_eq(
        dashboard_user_sign_in(service_connection, &ada, ada.email, "a new one of length").outcome,
        OUTCOME_OK);
}
