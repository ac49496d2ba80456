/* Sessions of the dashboard's users: how they begin, how long they last, what ends them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/uuid.h"
#include "proto/subject.h"
#include "tests/support/api.h"
#include "tests/support/caller.h"
#include "tests/support/sql.h"

#define PASSWORD "correct horse battery"
#define HOUR_S   3600

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

/* -- what the dashboard asks ------------------------------------------------------------------- */

struct user {
    struct org org;
    char id[37], email[64], address[40];
};

/* An address that no other test uses: attempts are counted by it. */
static const char *new_address(void)
{
    struct uuid id = uuid_v7(clock_us());

    return format("2001:db8:%04x:%04x::1", (unsigned)(id.b[12] << 8 | id.b[13]),
                  (unsigned)(id.b[14] << 8 | id.b[15]));
}

static json_t *create_user(const char *org, const char *email, const char *role)
{
    return caller_get(dashboard, SUBJECT_SESSION_USER_CREATE, org,
                      "{\"email\":\"%s\",\"role\":\"%s\",\"password\":\"" PASSWORD "\"}", email,
                      role);
}

static void user_new(struct user *user, const char *role)
{
    json_t *made;

    org_new(&user->org);
    snprintf(user->email, sizeof(user->email), "%s@example.org", user->org.id);
    snprintf(user->address, sizeof(user->address), "%s", new_address());
    made = create_user(user->org.id, user->email, role);
    snprintf(user->id, sizeof(user->id), "%s", said_text(made, "id"));
}

static struct said sign_in(const struct user *user, const char *email, const char *password)
{
    return caller_ask(dashboard, SUBJECT_SESSION_SIGN_IN, NULL,
                      "{\"email\":\"%s\",\"password\":\"%s\",\"address\":\"%s\","
                      "\"user_agent\":\"Browser/1\"}",
                      email, password, user->address);
}

/* The new session's token. */
static const char *session_of(const struct user *user)
{
    const struct said said = sign_in(user, user->email, PASSWORD);

    cr_assert_eq(said.outcome, OUTCOME_OK, "%s", outcome_name(said.outcome));
    return said_text(said.body, "session");
}

static struct said check(const char *token)
{
    return caller_ask(dashboard, SUBJECT_ACCESS_SESSION_CHECK, NULL, "{\"token_hash\":\"%s\"}",
                      said_hash(token));
}

static bool is_good(const char *token)
{
    const struct said said = check(token);

    cr_assert(said.outcome == OUTCOME_OK || said.outcome == OUTCOME_UNAUTHORIZED);
    return said.outcome == OUTCOME_OK;
}

/* -- how they begin ---------------------------------------------------------------------------- */

Test(sessions, begin_with_email_and_password)
{
    struct user ada;
    struct said said;
    const char *token;
    long long now = (long long)(clock_us() / 1000000);

    user_new(&ada, "owner");
    said = sign_in(&ada, ada.email, PASSWORD);
    cr_assert_eq(said.outcome, OUTCOME_OK);
    token = said_text(said.body, "session");
    cr_assert_eq(strlen(token), 43);
    cr_assert_str_eq(said_text(said.body, "user.id"), ada.id);
    cr_assert_str_eq(said_text(said.body, "user.role"), "owner");
    cr_assert_str_eq(said_text(said.body, "organization.id"), ada.org.id);
    cr_assert_leq(said_integer(said.body, "expires_at") - now - 12 * HOUR_S, 60);
    said = check(token);
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

    user_new(&ada, "member");
    token = session_of(&ada);
    cr_assert_eq(sql_integer("SELECT count(*) FROM access.sessions WHERE user_id = $1::uuid AND"
                             " token_hash = sha256($2::text::bytea) AND sessions::text !~ $2",
                             ada.id, token, NULL),
                 1);
}

Test(sessions, do_not_begin_with_anything_else)
{
    struct user ada;
    struct said wrong, unknown;

    user_new(&ada, "owner");
    wrong = sign_in(&ada, ada.email, "wrong");
    unknown = sign_in(&ada, "nobody@example.org", PASSWORD);
    cr_assert_eq(wrong.outcome, OUTCOME_UNAUTHORIZED);
    cr_assert_eq(unknown.outcome, OUTCOME_UNAUTHORIZED);
    cr_assert(json_equal(wrong.body, unknown.body), "it shows which of them is known");
    cr_assert_eq(
        sql_integer("SELECT count(*) FROM access.sessions WHERE user_id = $1::uuid", ada.id, NULL),
        0);
    cr_assert_not(is_good("no such token"));
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

Test(sessions, do_not_tell_by_the_time_which_emails_are_known)
{
    enum { TRIES = 9 };
    int64_t wrong_us[TRIES], unknown_us[TRIES];
    struct user ada;
    double ratio;

    user_new(&ada, "owner");
    for (int i = 0; i < TRIES; i++) {
        wrong_us[i] = sign_in(&ada, ada.email, "wrong").took_us;
        unknown_us[i] = sign_in(&ada, format("%d-%s", i, ada.email), "wrong").took_us;
    }
    qsort(wrong_us, TRIES, sizeof(wrong_us[0]), by_number);
    qsort(unknown_us, TRIES, sizeof(unknown_us[0]), by_number);
    ratio = (double)wrong_us[TRIES / 2] / (double)unknown_us[TRIES / 2];
    cr_assert(ratio > 0.5 && ratio < 2, "medians of %ld and %ld us", (long)wrong_us[TRIES / 2],
              (long)unknown_us[TRIES / 2]);
    cr_assert_gt(unknown_us[0], 10000, "a password was hashed");
}

Test(sessions, let_a_user_of_several_organizations_choose)
{
    struct user ada;
    struct org other;
    struct said said;

    user_new(&ada, "owner");
    org_new(&other);
    create_user(other.id, ada.email, "member");
    said = sign_in(&ada, ada.email, PASSWORD);
    cr_assert_eq(said.outcome, OUTCOME_OK);
    cr_assert_null(json_object_get(said.body, "session"));
    cr_assert_eq(json_array_size(json_object_get(said.body, "organizations")), 2);
    said = caller_ask(dashboard, SUBJECT_SESSION_SIGN_IN, NULL,
                      "{\"email\":\"%s\",\"password\":\"" PASSWORD "\",\"organization_id\":\"%s\","
                      "\"address\":\"%s\",\"user_agent\":\"\"}",
                      ada.email, other.id, ada.address);
    cr_assert_eq(said.outcome, OUTCOME_OK);
    cr_assert_str_eq(said_text(said.body, "organization.id"), other.id);
    cr_assert_str_eq(said_text(said.body, "user.role"), "member");
}

/* -- guessing ---------------------------------------------------------------------------------- */

/* Attempts are counted by the minute of the clock: begins where enough of it is left. */
static void begin_in_minute(void)
{
    while (clock_us() / 1000000 % 60 > 40)
        usleep(100000);
}

/* As if so many attempts had been made in this minute. */
static void attempt(const char *kind, const char *what, const char *times)
{
    cr_assert_not_null(sql_text("UPDATE access.attempts SET attempts = $3::integer"
                                " WHERE counted = sha256(concat($1::text, ' ', $2::text)::bytea)"
                                " AND attempts = 1 RETURNING 'x'",
                                kind, what, times, NULL),
                       "an attempt that was wrong is counted, one that was right is not");
}

static void expect_limited(const struct said *said)
{
    cr_assert_eq(said->outcome, OUTCOME_RATE_LIMITED, "%s", outcome_name(said->outcome));
    cr_assert(said->retry_after >= 1 && said->retry_after <= 60);
}

Test(sessions, are_limited_to_ten_failures_a_minute_and_email)
{
    struct user ada;
    struct said said;

    user_new(&ada, "owner");
    begin_in_minute();
    (void)session_of(&ada);
    (void)session_of(&ada);
    cr_assert_eq(sign_in(&ada, ada.email, "wrong").outcome, OUTCOME_UNAUTHORIZED);
    attempt("email", ada.email, "9");
    cr_assert_eq(sign_in(&ada, ada.email, "wrong").outcome, OUTCOME_UNAUTHORIZED);
    snprintf(ada.address, sizeof(ada.address), "%s", new_address());
    said = sign_in(&ada, ada.email, PASSWORD);
    expect_limited(&said); /* from wherever, and even with what is right: it would tell */
}

Test(sessions, are_limited_to_thirty_failures_a_minute_and_address)
{
    struct user ada;
    struct said said;
    char network[17];

    user_new(&ada, "owner");
    snprintf(network, sizeof(network), "20010db8%.4s%.4s", ada.address + 9, ada.address + 14);
    begin_in_minute();
    cr_assert_eq(sign_in(&ada, "nobody@example.org", "x").outcome, OUTCOME_UNAUTHORIZED);
    attempt("address", network, "29");
    cr_assert_eq(sign_in(&ada, "somebody@example.org", "x").outcome, OUTCOME_UNAUTHORIZED);
    strcat(ada.address, "2"); /* of the same network */
    said = sign_in(&ada, ada.email, PASSWORD);
    expect_limited(&said);
    snprintf(ada.address, sizeof(ada.address), "%s", new_address());
    (void)session_of(&ada);
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

    user_new(&ada, "admin");
    token = session_of(&ada);
    age(&ada, "11:59:00", "11:59:00");
    cr_assert(is_good(token), "used in time");
    cr_assert_eq(sql_integer("SELECT count(*) FROM access.sessions WHERE user_id = $1::uuid AND"
                             " last_seen_at > now() - interval '1 minute'",
                             ada.id, NULL),
                 1, "and noted as used");
    age(&ada, "12:01:00", "12:00:01");
    cr_assert_not(is_good(token));
    age(&ada, "167:59:00", "0");
    cr_assert(is_good(token));
    age(&ada, "168:00:01", "0");
    cr_assert_not(is_good(token));
}

Test(sessions, are_noted_as_seen_once_a_minute)
{
    static const char seen[] = "SELECT last_seen_at::text FROM access.sessions"
                               " WHERE user_id = $1::uuid";
    struct user ada;
    const char *token, *before;

    user_new(&ada, "admin");
    token = session_of(&ada);
    before = sql_text(seen, ada.id, NULL);
    cr_assert(is_good(token));
    cr_assert_str_eq(sql_text(seen, ada.id, NULL), before);
}

/* -- what ends them ---------------------------------------------------------------------------- */

Test(sessions, end_one_by_one_or_all_at_once)
{
    struct user ada;
    const char *here, *there, *third;
    json_t *list;
    const char *other_id;

    user_new(&ada, "admin");
    here = session_of(&ada);
    there = session_of(&ada);
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
    cr_assert_not(is_good(there));
    cr_assert(is_good(here));
    caller_get(dashboard, SUBJECT_ACCESS_SESSION_END, NULL, "{\"token_hash\":\"%s\"}",
               said_hash(here));
    cr_assert_not(is_good(here));
    here = session_of(&ada);
    third = session_of(&ada);
    cr_assert_eq(said_integer(caller_get(dashboard, SUBJECT_ACCESS_SESSION_END_ALL, ada.org.id,
                                         "{\"user_id\":\"%s\"}", ada.id),
                              "ended"),
                 2);
    cr_assert_not(is_good(here) || is_good(third));
}

Test(sessions, of_others_are_out_of_reach)
{
    struct user ada, eve;
    const char *token;
    json_t *list;

    user_new(&ada, "owner");
    user_new(&eve, "owner");
    token = session_of(&ada);
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
    cr_assert(is_good(token));
}

Test(sessions, other_than_this_one_end_with_the_password)
{
    static const char body[] = "{\"user_id\":\"%s\",\"password\":\"%s\",\"new_password\":\"%s\","
                               "\"keep\":\"%s\"}";
    struct user ada;
    const char *here, *there;

    user_new(&ada, "member");
    here = session_of(&ada);
    there = session_of(&ada);
    cr_assert_eq(caller_ask(dashboard, SUBJECT_SESSION_CHANGE_PASSWORD, ada.org.id, body, ada.id,
                            "wrong", "a new password", said_hash(here))
                     .outcome,
                 OUTCOME_PARAMETER_INVALID);
    cr_assert(is_good(there));
    cr_assert_eq(said_integer(caller_get(dashboard, SUBJECT_SESSION_CHANGE_PASSWORD, ada.org.id,
                                         body, ada.id, PASSWORD, "a new password", said_hash(here)),
                              "ended"),
                 1);
    cr_assert(is_good(here));
    cr_assert_not(is_good(there));
    cr_assert_eq(sign_in(&ada, ada.email, PASSWORD).outcome, OUTCOME_UNAUTHORIZED);
    cr_assert_eq(sign_in(&ada, ada.email, "a new password").outcome, OUTCOME_OK);
}
