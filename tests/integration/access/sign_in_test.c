/* Signing in to the dashboard: what it requires, what it does not reveal, how many guesses are
   allowed. */
#include <criterion/criterion.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/ip.h"
#include "proto/subject.h"
#include "tests/support/changes.h"
#include "tests/support/service_client.h"
#include "tests/support/sql.h"

TestSuite(sign_in, .init = service_connection_open, .fini = service_connection_close);

#define HOUR_S 3600

Test(sign_in, takes_email_and_password)
{
    struct dashboard_user ada;
    struct service_reply reply;
    const char *token;
    long long now = (long long)(clock_us() / 1000000);

    dashboard_user_new(service_connection, &ada, "owner");
    reply = dashboard_user_sign_in(service_connection, &ada, ada.email, USER_PASSWORD);
    cr_assert_eq(reply.outcome, OUTCOME_OK);
    token = reply_text(reply.body, "session");
    cr_assert_eq(strlen(token), 43);
    cr_assert_str_eq(reply_text(reply.body, "user.id"), ada.id);
    cr_assert_str_eq(reply_text(reply.body, "user.role"), "owner");
    cr_assert_str_eq(reply_text(reply.body, "organization.id"), ada.org.id);
    cr_assert_leq(reply_integer(reply.body, "expires_at") - now - 12 * HOUR_S, 60);
    reply = dashboard_user_session_check(service_connection, token);
    cr_assert_eq(reply.outcome, OUTCOME_OK);
    cr_assert_str_eq(reply_text(reply.body, "user.email"), ada.email);
    cr_assert_str_eq(reply_text(reply.body, "organization.id"), ada.org.id);
    changes_await(ada.org.id);
    cr_assert_eq(sql_integer("SELECT count(*) FROM audit.changes WHERE organization_id = $1::uuid"
                             " AND change = 'session.sign-in' AND user_id = $2::uuid AND who = $3",
                             ada.org.id, ada.id, ada.email, NULL),
                 1);
}

Test(sign_in, takes_nothing_else)
{
    struct dashboard_user ada;
    struct service_reply wrong, unknown;

    dashboard_user_new(service_connection, &ada, "owner");
    wrong = dashboard_user_sign_in(service_connection, &ada, ada.email, "wrong");
    unknown = dashboard_user_sign_in(service_connection, &ada, "nobody@example.org", USER_PASSWORD);
    cr_assert_eq(wrong.outcome, OUTCOME_UNAUTHORIZED);
    cr_assert_eq(unknown.outcome, OUTCOME_UNAUTHORIZED);
    cr_assert(json_equal(wrong.body, unknown.body), "it shows which of them is known");
    cr_assert_eq(
        sql_integer("SELECT count(*) FROM access.sessions WHERE user_id = $1::uuid", ada.id, NULL),
        0);
    cr_assert_not(dashboard_user_session_is_good(service_connection, "no such token"));
}

static int64_t at_best(int64_t best_us, const struct service_reply *reply)
{
    cr_assert_eq(reply->outcome, OUTCOME_UNAUTHORIZED);
    return best_us == 0 || reply->took_us < best_us ? reply->took_us : best_us;
}

/* Other load makes an answer slower, never faster: the test compares the shortest times, and takes
   more samples while they differ. */
Test(sign_in, does_not_tell_by_the_time_which_emails_are_known)
{
    enum { MIN = 5, MAX = 60, EACH_USER = 8 /* the limit is ten failures a minute */ };
    int64_t wrong_us = 0, unknown_us = 0;
    double ratio = 0;
    struct dashboard_user ada;

    for (int i = 0; i < MAX && (i < MIN || ratio < 0.5 || ratio > 2); i++) {
        struct service_reply reply;

        if (i % EACH_USER == 0)
            dashboard_user_new(service_connection, &ada, "owner");
        reply = dashboard_user_sign_in(service_connection, &ada, ada.email, "wrong");
        wrong_us = at_best(wrong_us, &reply);
        reply = dashboard_user_sign_in(service_connection, &ada, format("%d-%s", i, ada.email),
                                       "wrong");
        unknown_us = at_best(unknown_us, &reply);
        ratio = (double)wrong_us / (double)unknown_us;
    }
    cr_assert(ratio > 0.5 && ratio < 2, "%ld and %ld us", (long)wrong_us, (long)unknown_us);
    cr_assert_gt(unknown_us, 10000, "a password was hashed");
}

Test(sign_in, offers_a_choice_to_a_user_of_several_organizations)
{
    struct dashboard_user ada;
    struct org other;
    struct service_reply reply;

    dashboard_user_new(service_connection, &ada, "owner");
    org_new(&other);
    dashboard_user_create(service_connection, other.id, ada.email, "member");
    reply = dashboard_user_sign_in(service_connection, &ada, ada.email, USER_PASSWORD);
    cr_assert_eq(reply.outcome, OUTCOME_OK);
    cr_assert_null(json_object_get(reply.body, "session"));
    cr_assert_eq(json_array_size(json_object_get(reply.body, "organizations")), 2);
    reply = service_client_call(service_connection, SUBJECT_SESSION_SIGN_IN, NULL,
                                "{\"email\":\"%s\",\"password\":\"" USER_PASSWORD
                                "\",\"organization_id\":\"%s\","
                                "\"address\":\"%s\",\"user_agent\":\"\"}",
                                ada.email, other.id, ada.address);
    cr_assert_eq(reply.outcome, OUTCOME_OK);
    cr_assert_str_eq(reply_text(reply.body, "organization.id"), other.id);
    cr_assert_str_eq(reply_text(reply.body, "user.role"), "member");
}

enum { SIGNING_IN = 8, QUICK_MIN = 12, CHECKS_MAX = 50 };

static atomic_int signed_in, failed; /* only the test's own thread may assert */
static atomic_bool is_enough;

static enum outcome sign_in(struct service_client *client, const struct dashboard_user *user)
{
    return dashboard_user_sign_in(client, user, user->email, USER_PASSWORD).outcome;
}

static void *sign_in_until_enough(void *user)
{
    struct service_client *mine = service_client_open();

    while (!is_enough)
        atomic_fetch_add(sign_in(mine, user) == OUTCOME_OK ? &signed_in : &failed, 1);
    service_client_close(mine);
    return NULL;
}

/* Sign-ins are queued all the time: a session check that waited behind them would see some of them
   end. */
Test(sign_in, of_some_holds_up_no_session_while_passwords_are_hashed)
{
    pthread_t threads[SIGNING_IN];
    struct dashboard_user ada;
    const char *token;
    int n_quick = 0;

    dashboard_user_new(service_connection, &ada, "owner");
    token = dashboard_user_session(service_connection, &ada);
    for (int i = 0; i < SIGNING_IN; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, sign_in_until_enough, &ada), 0);
    for (int n = 0; n < CHECKS_MAX && failed == 0;) {
        const int before = atomic_load(&signed_in);

        cr_assert(dashboard_user_session_is_good(service_connection, token));
        n += before >= SIGNING_IN;
        n_quick += before >= SIGNING_IN && before == atomic_load(&signed_in);
    }
    is_enough = true;
    cr_expect_eq(failed, 0);
    cr_expect_geq(n_quick, QUICK_MIN, "checks during which no sign-in ended");
    for (int i = 0; i < SIGNING_IN; i++)
        pthread_join(threads[i], NULL);
}

static atomic_bool has_seen_two;

static void *sign_in_until_seen(void *user)
{
    struct service_client *mine = service_client_open();

    while (!has_seen_two) {
        const enum outcome outcome = sign_in(mine, user);

        failed += outcome != OUTCOME_OK && outcome != OUTCOME_BUSY &&
                  outcome != OUTCOME_UNAVAILABLE && outcome != OUTCOME_UNCERTAIN;
    }
    service_client_close(mine);
    return NULL;
}

/* A transaction stays open while its password is hashed, and then waits for the locked user: two
   waiting connections prove two hashes at a time. The sign-ins are answered with busy or, if the
   machine is too slow, miss their deadline. */
Test(sign_in, hashes_two_passwords_at_a_time_in_each_replica)
{
    const int64_t until_us = clock_mono_us() + 30 * INT64_C(1000000);
    PGconn *const holder = PQconnectdb(stack_setting("DATABASE_URL"));
    pthread_t threads[SIGNING_IN];
    struct dashboard_user ada;

    dashboard_user_new(service_connection, &ada, "owner");
    PQclear(PQexec(holder, "BEGIN"));
    PQclear(
        PQexec(holder, format("SELECT FROM access.users WHERE user_id = '%s' FOR UPDATE", ada.id)));
    cr_assert_eq(PQtransactionStatus(holder), PQTRANS_INTRANS, "%s", PQerrorMessage(holder));
    for (int i = 0; i < SIGNING_IN; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, sign_in_until_seen, &ada), 0);
    while (!has_seen_two && clock_mono_us() < until_us)
        has_seen_two = sql_integer("SELECT count(*) FROM pg_stat_activity WHERE application_name ="
                                   " 'session-0' AND wait_event_type = 'Lock'",
                                   NULL) >= 2;
    cr_expect(has_seen_two);
    has_seen_two = true;
    PQfinish(holder);
    for (int i = 0; i < SIGNING_IN; i++)
        pthread_join(threads[i], NULL);
    cr_expect_eq(failed, 0);
}

/* Someone adds the user's email to many organizations of their own. */
Test(sign_in, succeeds_in_the_usual_network_despite_many_organizations_with_the_email)
{
    enum { FOREIGN = 8 };
    struct dashboard_user ada;
    struct service_reply reply;

    dashboard_user_new(service_connection, &ada, "owner");
    (void)dashboard_user_session(service_connection, &ada);
    for (int i = 0; i < FOREIGN; i++) {
        struct org foreign;

        org_new(&foreign);
        cr_assert_not_null(sql_text(
            "INSERT INTO access.users (organization_id, user_id, email, role, password_hash,"
            " last_seen_at) VALUES ($1::uuid, gen_random_uuid(), $2, 'owner', 'scrypt$1$8$1$x$x',"
            " now() + interval '1 minute') RETURNING 'x'",
            foreign.id, ada.email, NULL));
    }
    cr_assert_eq(dashboard_user_sign_in(service_connection, &ada, ada.email, USER_PASSWORD).outcome,
                 OUTCOME_OK);
    snprintf(ada.address, sizeof(ada.address), "%s", dashboard_user_address());
    reply = dashboard_user_sign_in(service_connection, &ada, ada.email, USER_PASSWORD);
    cr_assert_eq(reply.outcome, OUTCOME_UNAUTHORIZED,
                 "the password is checked for five other organizations");
    reply =
        service_client_call(service_connection, SUBJECT_SESSION_SIGN_IN, NULL,
                            "{\"email\":\"%s\",\"password\":\"" USER_PASSWORD
                            "\",\"organization_id\":\"%s\",\"address\":\"%s\",\"user_agent\":\"\"}",
                            ada.email, ada.org.id, ada.address);
    cr_assert_eq(reply.outcome, OUTCOME_OK, "naming the organization succeeds");
}

/* USER_PASSWORD with N=2, r=8, p=1, hashed by another program. */
#define CHEAP_HASH                                                                                 \
    "scrypt$1$8$1$000102030405060708090a0b0c0d0e0f$"                                               \
    "56a48041122a4dcd39afa1bfddf92576ab7fe71f3e48883f1bf3f8f8d0a753bc"

Test(sign_in, raises_the_cost_of_a_password_that_was_hashed_for_less)
{
    struct dashboard_user ada;

    dashboard_user_new(service_connection, &ada, "owner");
    cr_assert_not_null(sql_text("UPDATE access.users SET password_hash = $2"
                                " WHERE user_id = $1::uuid RETURNING 'x'",
                                ada.id, CHEAP_HASH, NULL));
    cr_assert_eq(dashboard_user_sign_in(service_connection, &ada, ada.email, "wrong").outcome,
                 OUTCOME_UNAUTHORIZED);
    cr_assert_str_eq(sql_text("SELECT left(password_hash, 14) FROM access.users"
                              " WHERE user_id = $1::uuid",
                              ada.id, NULL),
                     "scrypt$1$8$1$0");
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(
            dashboard_user_sign_in(service_connection, &ada, ada.email, USER_PASSWORD).outcome,
            OUTCOME_OK);
        cr_assert_str_eq(sql_text("SELECT left(password_hash, 14) FROM access.users"
                                  " WHERE user_id = $1::uuid",
                                  ada.id, NULL),
                         "scrypt$12$8$3$", "as PASSWORD_COST says");
    }
}

/* -- guessing ---------------------------------------------------------------------------------- */

/* Attempts are counted by the minute of the clock: a test starts over when the minute has changed
   meanwhile. */
static int64_t minute_now(void)
{
    return clock_us() / 1000000 / 60;
}

/* Raises this minute's count from 1 to `times`; false if it is not 1: wrong attempts are counted,
   right ones are not. */
static bool attempt(const char *kind, const char *what, const char *times)
{
    return sql_text("UPDATE access.attempts SET attempts = $3::integer"
                    " WHERE counted = sha256(concat($1::text, ' ', $2::text)::bytea)"
                    " AND attempts = 1 RETURNING 'x'",
                    kind, what, times, NULL) != NULL;
}

static const char *network_text(const struct dashboard_user *user,
                                struct network (*around)(const struct address *address))
{
    struct address address;
    struct network network;
    char text[NETWORK_TEXT];

    cr_assert(address_parse(str_of(user->address), &address));
    network = around(&address);
    network_format(&network, text);
    return format("%s", text);
}

static void expect_limited(const struct service_reply *reply)
{
    cr_assert_eq(reply->outcome, OUTCOME_RATE_LIMITED, "%s", outcome_name(reply->outcome));
    cr_assert(reply->retry_after >= 1 && reply->retry_after <= 60);
}

struct spent {
    struct service_reply first, last;
    bool was_counted;
};

/* Uses up the failures allowed in a minute: makes the first, raises the count to `times`, and makes
   the last. */
static struct spent spend(const struct dashboard_user *user, const char *email, const char *kind,
                          const char *what, const char *times)
{
    struct spent spent;

    spent.first = dashboard_user_sign_in(service_connection, user, email, "wrong");
    spent.was_counted = attempt(kind, what, times);
    spent.last = dashboard_user_sign_in(service_connection, user, email, "wrong");
    return spent;
}

static void expect_heard(const struct spent *spent)
{
    cr_assert_eq(spent->first.outcome, OUTCOME_UNAUTHORIZED);
    cr_assert(spent->was_counted);
    cr_assert_eq(spent->last.outcome, OUTCOME_UNAUTHORIZED);
}

Test(sign_in, is_limited_to_ten_failures_a_minute_and_email)
{
    char home[sizeof(((struct dashboard_user *)NULL)->address)];
    struct service_reply right, wrong, at_home;
    struct spent spent;
    struct dashboard_user ada;
    int64_t minute;

    do {
        minute = minute_now();
        dashboard_user_new(service_connection, &ada, "owner");
        (void)dashboard_user_session(service_connection, &ada);
        (void)dashboard_user_session(service_connection, &ada);
        spent = spend(&ada, ada.email, "email", ada.email, "9");
        memcpy(home, ada.address, sizeof(home));
        snprintf(ada.address, sizeof(ada.address), "%s", dashboard_user_address());
        right = dashboard_user_sign_in(service_connection, &ada, ada.email, USER_PASSWORD);
        wrong = dashboard_user_sign_in(service_connection, &ada, ada.email, "wrong");
        memcpy(ada.address, home, sizeof(home));
        at_home = dashboard_user_sign_in(service_connection, &ada, ada.email, USER_PASSWORD);
    } while (minute_now() != minute);
    expect_heard(&spent);
    expect_limited(&right); /* with the right password, too: a success would confirm it */
    expect_limited(&wrong);
    cr_assert_eq(at_home.outcome, OUTCOME_OK, "strangers cannot lock a user out");
}

/* Guesses from the owner's own network have a count of their own, with the same limit. */
Test(sign_in, is_limited_to_ten_failures_a_minute_in_networks_of_earlier_sign_ins)
{
    struct spent spent;
    struct service_reply right;
    struct dashboard_user ada;
    int64_t minute;

    do {
        minute = minute_now();
        dashboard_user_new(service_connection, &ada, "owner");
        (void)dashboard_user_session(service_connection, &ada);
        spent = spend(&ada, ada.email, "place",
                      format("%s %s", network_text(&ada, network_wide), ada.email), "9");
        right = dashboard_user_sign_in(service_connection, &ada, ada.email, USER_PASSWORD);
    } while (minute_now() != minute);
    expect_heard(&spent);
    expect_limited(&right);
}

Test(sign_in, is_limited_to_thirty_failures_a_minute_and_address)
{
    struct spent spent;
    struct service_reply right;
    struct dashboard_user ada;
    int64_t minute;

    do {
        minute = minute_now();
        dashboard_user_new(service_connection, &ada, "owner");
        spent =
            spend(&ada, "nobody@example.org", "address", network_text(&ada, network_near), "29");
        strcat(ada.address, "2"); /* in the same network */
        right = dashboard_user_sign_in(service_connection, &ada, ada.email, USER_PASSWORD);
    } while (minute_now() != minute);
    expect_heard(&spent);
    expect_limited(&right);
    snprintf(ada.address, sizeof(ada.address), "%s", dashboard_user_address());
    (void)dashboard_user_session(service_connection, &ada);
}
