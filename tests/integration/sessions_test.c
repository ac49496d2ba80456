/* Sessions of the dashboard's users: how they begin, how long they last, what ends them. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/uuid.h"
#include "proto/subject.h"
#include "tests/support/api.h"
#include "tests/support/caller.h"
#include "tests/support/sql.h"
#include "tests/support/user.h"

#define HOUR_S 3600

static struct caller_link *dashboard;

static void open_all(void)
{
    api_open();
    dashboard = caller_open();
}

static void close_all(void)
{
    caller_close(dashboard);
}

TestSuite(sessions, .init = open_all, .fini = close_all, .timeout = 120);

/* -- how they begin ---------------------------------------------------------------------------- */

Test(sessions, begin_with_email_and_password)
{
    struct user ada;
    struct said said;
    const char *token;
    long long now = (long long)(clock_us() / 1000000);

    user_new(dashboard, &ada, "owner");
    said = user_sign_in(dashboard, &ada, ada.email, USER_PASSWORD);
    cr_assert_eq(said.outcome, OUTCOME_OK);
    token = said_text(said.body, "session");
    cr_assert_eq(strlen(token), 43);
    cr_assert_str_eq(said_text(said.body, "user.id"), ada.id);
    cr_assert_str_eq(said_text(said.body, "user.role"), "owner");
    cr_assert_str_eq(said_text(said.body, "organization.id"), ada.org.id);
    cr_assert_leq(said_integer(said.body, "expires_at") - now - 12 * HOUR_S, 60);
    said = user_session_check(dashboard, token);
    cr_assert_eq(said.outcome, OUTCOME_OK);
    cr_assert_str_eq(said_text(said.body, "user.email"), ada.email);
    cr_assert_str_eq(said_text(said.body, "organization.id"), ada.org.id);
    cr_assert_eq(sql_integer("SELECT count(*) FROM audit.changes WHERE organization_id = $1::uuid"
                             " AND change = 'session.sign-in' AND user_id = $2::uuid AND who = $3",
                             ada.org.id, ada.id, ada.email, NULL),
                 1);
}

Test(sessions, are_kept_as_a_hash_alone)
{
    struct user ada;
    const char *token;

    user_new(dashboard, &ada, "member");
    token = user_session(dashboard, &ada);
    cr_assert_eq(sql_integer("SELECT count(*) FROM access.sessions WHERE user_id = $1::uuid AND"
                             " token_hash = sha256($2::text::bytea) AND sessions::text !~ $2",
                             ada.id, token, NULL),
                 1);
}

Test(sessions, do_not_begin_with_anything_else)
{
    struct user ada;
    struct said wrong, unknown;

    user_new(dashboard, &ada, "owner");
    wrong = user_sign_in(dashboard, &ada, ada.email, "wrong");
    unknown = user_sign_in(dashboard, &ada, "nobody@example.org", USER_PASSWORD);
    cr_assert_eq(wrong.outcome, OUTCOME_UNAUTHORIZED);
    cr_assert_eq(unknown.outcome, OUTCOME_UNAUTHORIZED);
    cr_assert(json_equal(wrong.body, unknown.body), "it shows which of them is known");
    cr_assert_eq(
        sql_integer("SELECT count(*) FROM access.sessions WHERE user_id = $1::uuid", ada.id, NULL),
        0);
    cr_assert_not(user_session_is_good(dashboard, "no such token"));
}

static int64_t at_best(int64_t best_us, const struct said *said)
{
    cr_assert_eq(said->outcome, OUTCOME_UNAUTHORIZED);
    return best_us == 0 || said->took_us < best_us ? said->took_us : best_us;
}

/* Whatever else the machine does makes an answer later, never earlier: the shortest times show how
   long it takes, and the more of them the better. */
Test(sessions, do_not_tell_by_the_time_which_emails_are_known)
{
    enum { LEAST = 5, MOST = 60, EACH_USER = 8 /* ten failures a minute are heard */ };
    int64_t wrong_us = 0, unknown_us = 0;
    double ratio = 0;
    struct user ada;

    for (int i = 0; i < MOST && (i < LEAST || ratio < 0.5 || ratio > 2); i++) {
        struct said said;

        if (i % EACH_USER == 0)
            user_new(dashboard, &ada, "owner");
        said = user_sign_in(dashboard, &ada, ada.email, "wrong");
        wrong_us = at_best(wrong_us, &said);
        said = user_sign_in(dashboard, &ada, format("%d-%s", i, ada.email), "wrong");
        unknown_us = at_best(unknown_us, &said);
        ratio = (double)wrong_us / (double)unknown_us;
    }
    cr_assert(ratio > 0.5 && ratio < 2, "%ld and %ld us", (long)wrong_us, (long)unknown_us);
    cr_assert_gt(unknown_us, 10000, "a password was hashed");
}

Test(sessions, let_a_user_of_several_organizations_choose)
{
    struct user ada;
    struct org other;
    struct said said;

    user_new(dashboard, &ada, "owner");
    org_new(&other);
    user_create(dashboard, other.id, ada.email, "member");
    said = user_sign_in(dashboard, &ada, ada.email, USER_PASSWORD);
    cr_assert_eq(said.outcome, OUTCOME_OK);
    cr_assert_null(json_object_get(said.body, "session"));
    cr_assert_eq(json_array_size(json_object_get(said.body, "organizations")), 2);
    said = caller_ask(dashboard, SUBJECT_SESSION_SIGN_IN, NULL,
                      "{\"email\":\"%s\",\"password\":\"" USER_PASSWORD
                      "\",\"organization_id\":\"%s\","
                      "\"address\":\"%s\",\"user_agent\":\"\"}",
                      ada.email, other.id, ada.address);
    cr_assert_eq(said.outcome, OUTCOME_OK);
    cr_assert_str_eq(said_text(said.body, "organization.id"), other.id);
    cr_assert_str_eq(said_text(said.body, "user.role"), "member");
}

enum { SIGNING_IN = 8 };

static atomic_int signed_in;

static void *sign_in_once(void *user)
{
    struct caller_link *mine = caller_open();

    cr_expect_eq(user_sign_in(mine, user, ((struct user *)user)->email, USER_PASSWORD).outcome,
                 OUTCOME_OK);
    atomic_fetch_add(&signed_in, 1);
    caller_close(mine);
    return NULL;
}

Test(sessions, do_not_wait_while_passwords_are_hashed)
{
    pthread_t threads[SIGNING_IN];
    struct user ada;
    const char *token;
    int answered = 0;

    user_new(dashboard, &ada, "owner");
    token = user_session(dashboard, &ada);
    for (int i = 0; i < SIGNING_IN; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, sign_in_once, &ada), 0);
    for (; atomic_load(&signed_in) < SIGNING_IN; answered++)
        cr_assert(user_session_is_good(dashboard, token));
    cr_assert_gt(answered, SIGNING_IN, "more often than if it waited for each of them");
    for (int i = 0; i < SIGNING_IN; i++)
        pthread_join(threads[i], NULL);
}

/* -- guessing ---------------------------------------------------------------------------------- */

/* Attempts are counted by the minute of the clock: who sees another one than before begins anew. */
static int64_t minute_now(void)
{
    return clock_us() / 1000000 / 60;
}

/* As if so many attempts had been made in this minute; one that was wrong is counted, one that was
   right is not. */
static bool attempt(const char *kind, const char *what, const char *times)
{
    return sql_text("UPDATE access.attempts SET attempts = $3::integer"
                    " WHERE counted = sha256(concat($1::text, ' ', $2::text)::bytea)"
                    " AND attempts = 1 RETURNING 'x'",
                    kind, what, times, NULL) != NULL;
}

static void expect_limited(const struct said *said)
{
    cr_assert_eq(said->outcome, OUTCOME_RATE_LIMITED, "%s", outcome_name(said->outcome));
    cr_assert(said->retry_after >= 1 && said->retry_after <= 60);
}

Test(sessions, are_limited_to_ten_failures_a_minute_and_email)
{
    struct said ninth, tenth, right;
    struct user ada;
    bool was_counted;
    int64_t minute;

    do {
        minute = minute_now();
        user_new(dashboard, &ada, "owner");
        (void)user_session(dashboard, &ada);
        (void)user_session(dashboard, &ada);
        ninth = user_sign_in(dashboard, &ada, ada.email, "wrong");
        was_counted = attempt("email", ada.email, "9");
        tenth = user_sign_in(dashboard, &ada, ada.email, "wrong");
        snprintf(ada.address, sizeof(ada.address), "%s", user_address());
        right = user_sign_in(dashboard, &ada, ada.email, USER_PASSWORD);
    } while (minute_now() != minute);
    cr_assert_eq(ninth.outcome, OUTCOME_UNAUTHORIZED);
    cr_assert(was_counted);
    cr_assert_eq(tenth.outcome, OUTCOME_UNAUTHORIZED);
    expect_limited(&right); /* from wherever, and even with what is right: it would tell */
}

Test(sessions, are_limited_to_thirty_failures_a_minute_and_address)
{
    struct said first, thirtieth, right;
    struct user ada;
    char network[17];
    bool was_counted;
    int64_t minute;

    do {
        minute = minute_now();
        user_new(dashboard, &ada, "owner");
        snprintf(network, sizeof(network), "20010db8%.4s%.4s", ada.address + 9, ada.address + 14);
        first = user_sign_in(dashboard, &ada, "nobody@example.org", "x");
        was_counted = attempt("address", network, "29");
        thirtieth = user_sign_in(dashboard, &ada, "somebody@example.org", "x");
        strcat(ada.address, "2"); /* of the same network */
        right = user_sign_in(dashboard, &ada, ada.email, USER_PASSWORD);
    } while (minute_now() != minute);
    cr_assert_eq(first.outcome, OUTCOME_UNAUTHORIZED);
    cr_assert(was_counted);
    cr_assert_eq(thirtieth.outcome, OUTCOME_UNAUTHORIZED);
    expect_limited(&right);
    snprintf(ada.address, sizeof(ada.address), "%s", user_address());
    (void)user_session(dashboard, &ada);
}

/* -- how long they last ------------------------------------------------------------------------ */

/* Moves a user's sessions into the past. */
static void age(const struct user *user, const char *made, const char *seen)
{
    cr_assert_not_null(
        sql_text("UPDATE access.sessions SET created_at = now() - $2::interval,"
                 " last_seen_at = now() - $3::interval WHERE user_id = $1::uuid RETURNING 'x'",
                 user->id, made, seen, NULL));
}

Test(sessions, end_after_twelve_hours_without_use_or_seven_days)
{
    struct user ada;
    const char *token;

    user_new(dashboard, &ada, "admin");
    token = user_session(dashboard, &ada);
    age(&ada, "11:59:00", "11:59:00");
    cr_assert(user_session_is_good(dashboard, token), "used in time");
    cr_assert_eq(sql_integer("SELECT count(*) FROM access.sessions WHERE user_id = $1::uuid AND"
                             " last_seen_at > now() - interval '1 minute'",
                             ada.id, NULL),
                 1, "and noted as used");
    age(&ada, "12:01:00", "12:00:01");
    cr_assert_not(user_session_is_good(dashboard, token));
    token = user_session(dashboard, &ada); /* upkeep may have removed the other by now */
    age(&ada, "167:59:00", "0");
    cr_assert(user_session_is_good(dashboard, token));
    age(&ada, "168:00:01", "0");
    cr_assert_not(user_session_is_good(dashboard, token));
}

Test(sessions, are_noted_as_seen_once_a_minute)
{
    static const char seen[] = "SELECT last_seen_at::text FROM access.sessions"
                               " WHERE user_id = $1::uuid";
    struct user ada;
    const char *token, *before;

    user_new(dashboard, &ada, "admin");
    token = user_session(dashboard, &ada);
    before = sql_text(seen, ada.id, NULL);
    cr_assert(user_session_is_good(dashboard, token));
    cr_assert_str_eq(sql_text(seen, ada.id, NULL), before);
}

Test(sessions, are_a_hundred_a_user_at_most)
{
    struct user ada;
    const char *first, *latest;

    user_new(dashboard, &ada, "admin");
    first = user_session(dashboard, &ada);
    sql_text("INSERT INTO access.sessions (organization_id, session_id, user_id, token_hash,"
             " address, user_agent) SELECT $1::uuid, gen_random_uuid(), $2::uuid,"
             " sha256(n::text::bytea), '::1', '' FROM generate_series(1, 99) AS n RETURNING 'x'",
             ada.org.id, ada.id, NULL);
    cr_assert(user_session_is_good(dashboard, first));
    latest = user_session(dashboard, &ada);
    cr_assert_eq(
        sql_integer("SELECT count(*) FROM access.sessions WHERE user_id = $1::uuid", ada.id, NULL),
        100);
    cr_assert(user_session_is_good(dashboard, latest));
    cr_assert_not(user_session_is_good(dashboard, first), "unused for longest");
}

/* -- what ends them ---------------------------------------------------------------------------- */

Test(sessions, end_one_by_one_or_all_at_once)
{
    struct user ada;
    const char *here, *there, *third;
    json_t *list;
    const char *other_id;

    user_new(dashboard, &ada, "admin");
    here = user_session(dashboard, &ada);
    there = user_session(dashboard, &ada);
    list = caller_get(dashboard, SUBJECT_ACCESS_SESSION_LIST, ada.org.id,
                      "{\"user_id\":\"%s\",\"token_hash\":\"%s\"}", ada.id, said_hash(here));
    cr_assert_eq(json_array_size(json_object_get(list, "sessions")), 2);
    cr_assert_str_eq(said_text(list, "sessions.0.user_agent"), "Browser/1");
    cr_assert(json_is_false(
        json_object_get(json_array_get(json_object_get(list, "sessions"), 0), "current")));
    other_id = said_text(list, "sessions.0.id");
    cr_assert_eq(said_integer(caller_get(dashboard, SUBJECT_ACCESS_SESSION_END, ada.org.id,
                                         "{\"user_id\":\"%s\",\"id\":\"%s\"}", ada.id, other_id),
                              "ended"),
                 1);
    cr_assert_not(user_session_is_good(dashboard, there));
    cr_assert(user_session_is_good(dashboard, here));
    caller_get(dashboard, SUBJECT_ACCESS_SESSION_END, NULL, "{\"token_hash\":\"%s\"}",
               said_hash(here));
    cr_assert_not(user_session_is_good(dashboard, here));
    here = user_session(dashboard, &ada);
    third = user_session(dashboard, &ada);
    cr_assert_eq(said_integer(caller_get(dashboard, SUBJECT_ACCESS_SESSION_END_ALL, ada.org.id,
                                         "{\"user_id\":\"%s\"}", ada.id),
                              "ended"),
                 2);
    cr_assert_not(user_session_is_good(dashboard, here) || user_session_is_good(dashboard, third));
}

Test(sessions, of_others_are_out_of_reach)
{
    struct user ada, eve;
    const char *token;
    json_t *list;

    user_new(dashboard, &ada, "owner");
    user_new(dashboard, &eve, "owner");
    token = user_session(dashboard, &ada);
    list = caller_get(dashboard, SUBJECT_ACCESS_SESSION_LIST, ada.org.id,
                      "{\"user_id\":\"%s\",\"token_hash\":\"%s\"}", ada.id, said_hash(token));
    cr_assert_eq(said_integer(caller_get(dashboard, SUBJECT_ACCESS_SESSION_END, eve.org.id,
                                         "{\"user_id\":\"%s\",\"id\":\"%s\"}", ada.id,
                                         said_text(list, "sessions.0.id")),
                              "ended"),
                 0);
    cr_assert_eq(said_integer(caller_get(dashboard, SUBJECT_ACCESS_SESSION_END_ALL, eve.org.id,
                                         "{\"user_id\":\"%s\"}", ada.id),
                              "ended"),
                 0);
    cr_assert(user_session_is_good(dashboard, token));
}

Test(sessions, other_than_this_one_end_with_the_password)
{
    static const char body[] = "{\"user_id\":\"%s\",\"password\":\"%s\",\"new_password\":\"%s\","
                               "\"keep\":\"%s\"}";
    struct user ada;
    const char *here, *there;

    user_new(dashboard, &ada, "member");
    here = user_session(dashboard, &ada);
    there = user_session(dashboard, &ada);
    cr_assert_eq(caller_ask(dashboard, SUBJECT_SESSION_CHANGE_PASSWORD, ada.org.id, body, ada.id,
                            "wrong", "a new password", said_hash(here))
                     .outcome,
                 OUTCOME_PARAMETER_INVALID);
    cr_assert(user_session_is_good(dashboard, there));
    cr_assert_eq(
        said_integer(caller_get(dashboard, SUBJECT_SESSION_CHANGE_PASSWORD, ada.org.id, body,
                                ada.id, USER_PASSWORD, "a new password", said_hash(here)),
                     "ended"),
        1);
    cr_assert(user_session_is_good(dashboard, here));
    cr_assert_not(user_session_is_good(dashboard, there));
    cr_assert_eq(user_sign_in(dashboard, &ada, ada.email, USER_PASSWORD).outcome,
                 OUTCOME_UNAUTHORIZED);
    cr_assert_eq(user_sign_in(dashboard, &ada, ada.email, "a new password").outcome, OUTCOME_OK);
}
