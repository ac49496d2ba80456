/* An actor whose database comes and goes. */
#include <poll.h>
#include <stdlib.h>

#include "tests/support/tcp_proxy.h"
#include "tests/unit/common/actor/actor_fixture.h"

#define KILL_BACKEND                                                                               \
    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"                                \
    " WHERE application_name = 'sample-0' AND datname = current_database()"

TestSuite(actor_membership, .init = setup, .fini = teardown);

Test(actor_membership, writes_nothing_of_a_batch_whose_backend_is_killed)
{
    hold_back();
    command_client_flush(client);
    postgres_do(url, KILL_BACKEND);
    command_client_await(client, 1);
    open_gate();
    cr_assert_eq(command_client_count(client, "unavailable"), 1);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 0);
    ask_until("then", "created then");
    cr_assert_eq(count("SELECT count(*) FROM sample"), 1);
}

Test(actor_membership, is_uncertain_only_about_possible_writes)
{
    hold_back();
    command_client_send(client, SAMPLE_PUT, "slow-commit", COMMAND_NORMAL);
    command_client_send(client, SAMPLE_PUT, "", COMMAND_NORMAL);
    command_client_send(client, SAMPLE_COUNT, "", COMMAND_NORMAL);
    let_go();
    postgres_await(url, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'sample-0'"
                        " AND wait_event = 'PgSleep' AND datname = current_database()");
    postgres_do(url, KILL_BACKEND);
    command_client_await(client, 4);
    cr_assert_eq(command_client_count(client, "uncertain"), 1);
    cr_assert_eq(command_client_count(client, "unavailable"), 2);
}

static bool has_answer(const char *answer)
{
    return strstr(command_client_call(client, SAMPLE_PUT, "x", COMMAND_NORMAL), answer) != NULL;
}

Test(actor_membership, answers_at_once_while_the_database_is_down_and_heals_by_itself)
{
    struct postgres_server own;
    const char *answer;
    int64_t start_us;

    actor_free(actor);
    postgres_server_prepare(&own);
    postgres_server_start(&own);
    postgres_fill(own.url, &sample_template);
    snprintf(database.url, sizeof(database.url), "%s", own.url);
    start_actor(0);

    postgres_server_crash(&own);
    do {
        command_client_reset(client);
        answer = command_client_call(client, SAMPLE_PUT, "x", COMMAND_NORMAL);
        cr_assert(strstr(answer, "unavailable ") != NULL ||
                      (!has_database(actor) && strcmp(answer, "no responders") == 0),
                  "%s", answer);
    } while (has_database(actor));
    ask_until("x", "no responders");
    /* A command that waited for a reply would wait until its deadline. */
    start_us = clock_mono_us();
    for (int i = 0; i < 5; i++)
        cr_assert(has_answer("no responders"));
    cr_assert_lt(clock_mono_us() - start_us, COMMAND_CLIENT_TIMEOUT_MS * 1000 / 2);
    postgres_server_start(&own);
    ask_until("x", "created x");
    cr_assert(has_database(actor));
    cr_assert_eq(count("SELECT count(*) FROM sample"), 1);
    PQfinish(gate);
    gate = NULL;
    actor_free(actor);
    actor = NULL;
    postgres_server_stop(&own);
}

/* While the server restarts as a standby, it is unreachable. */
static void await_trouble(const char *trouble)
{
    const int64_t until_us = clock_mono_us() + COMMAND_CLIENT_TIMEOUT_MS * 1000LL;
    const char *now;

    while ((now = actor_database_trouble(actor)) == NULL || strcmp(now, trouble) != 0) {
        cr_assert_lt(clock_mono_us(), until_us, "%s", now != NULL ? now : "none");
        poll(NULL, 0, 1);
    }
}

/* The database is up but of no use, as after a demotion: the primary is elsewhere. */
Test(actor_membership, leaves_commands_to_others_while_its_database_is_a_standby)
{
    struct postgres_server own;

    actor_free(actor);
    postgres_server_prepare(&own);
    postgres_server_start(&own);
    postgres_fill(own.url, &sample_template);
    snprintf(database.url, sizeof(database.url), "%s", own.url);
    start_actor(0);
    postgres_server_demote(&own);
    ask_until("x", "no responders");
    await_trouble("no server of the database takes writes");
    postgres_server_promote(&own);
    ask_until("x", "created x");
    PQfinish(gate);
    gate = NULL;
    actor_free(actor);
    actor = NULL;
    postgres_server_stop(&own);
}

/* A killed backend is no reason to leave: the connection is back within milliseconds. */
Test(actor_membership, stays_in_the_queue_group_while_it_reconnects)
{
    for (int i = 0; i < 20; i++) {
        const char *answer;
        int64_t start_us = clock_mono_us();

        postgres_do(url, KILL_BACKEND);
        answer = command_client_call(client, SAMPLE_PUT, "x", COMMAND_NORMAL);
        if (clock_mono_us() - start_us < 250000)
            cr_assert_str_neq(answer, "no responders");
        /* A second kill during the reconnect would keep it away for the time of both. */
        ask_until("x", "created x");
    }
}

/* -- a link that was cut --------------------------------------------------------------------- */

static struct tcp_proxy way; /* to the database */

/* Actors that are started from now on reach their database through a proxy. */
static void insert_tcp_proxy(void)
{
    char direct[POSTGRES_URL_MAX];
    const char *port, *name;

    actor_free(actor);
    snprintf(direct, sizeof(direct), "%s", url);
    port = strrchr(direct, ':');
    cr_assert_not_null(port);
    name = strchr(port, '/');
    cr_assert_not_null(name);
    tcp_proxy_start(&way, (uint16_t)strtoul(port + 1, NULL, 10));
    snprintf(database.url, sizeof(database.url), "%.*s:%u%s", (int)(port - direct), direct,
             (unsigned)way.port, name);
}

/* Starts an idle actor. */
static void start_with_tcp_proxy(void)
{
    insert_tcp_proxy();
    start_actor(0);
}

static void await_loss_of(const struct actor *whose)
{
    while (has_database(whose))
        usleep(1000);
}

static void await_loss(void)
{
    await_loss_of(actor);
}

static void await_return(void)
{
    while (!has_database(actor))
        usleep(1000);
}

/* As when the database restarts: the first command finds the link lost. */
Test(actor_membership, makes_a_command_wait_until_it_has_reconnected)
{
    start_with_tcp_proxy();
    for (int i = 0; i < 10; i++) {
        const char *id = (const char *const[]){"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}[i];

        command_client_reset(client);
        tcp_proxy_cut(&way);
        command_client_send(client, SAMPLE_PUT, id, COMMAND_NORMAL);
        await_loss();
        tcp_proxy_restore(&way);
        command_client_await(client, 1);
        cr_assert_eq(command_client_count(client, "created"), 1, "round %d", i);
    }
    cr_assert_eq(count("SELECT count(*) FROM sample"), 10);
}

Test(actor_membership, makes_a_command_wait_in_the_slow_lane_too)
{
    insert_tcp_proxy();
    start_lane_of(&sample_service, 0);
    start_actor(0);
    cr_assert_str_eq(command_client_call(client, SAMPLE_PUT, "costs-5000", COMMAND_NORMAL),
                     "created costs-5000");
    for (int i = 0; i < 3; i++) {
        command_client_reset(client);
        tcp_proxy_cut(&way);
        await_loss_of(lane);
        command_client_send(client, SAMPLE_PUT, "slow", COMMAND_NORMAL);
        push();
        usleep(100 * 1000); /* the actor tries its database several times */
        tcp_proxy_restore(&way);
        command_client_await(client, 1);
        cr_assert_eq(command_client_count(client, "created"), 1, "round %d", i);
    }
    cr_assert_eq(metric_read(metrics->slow_lane), 3);
}

/* Its periodic check, once a second, would see it later. */
Test(actor_membership, sees_at_once_that_its_link_is_gone_though_it_has_nothing_to_do)
{
    int64_t took_us = 0;

    start_with_tcp_proxy();
    for (int i = 0; i < 10; i++) {
        int64_t start_us = clock_mono_us();

        tcp_proxy_cut(&way);
        await_loss();
        took_us += clock_mono_us() - start_us;
        tcp_proxy_restore(&way);
        await_return();
    }
    cr_assert_lt(took_us, limit_scaled(2500 * INT64_C(1000)), "in ten times");
}

/* The actor that is cut off refuses commands until it has left the queue group. Another one always
   responds. */
static void expect_only_the_other_to_answer(const struct actor *cut)
{
    const int64_t until_us = clock_mono_us() + HEALED_US;

    for (int in_a_row = 0; in_a_row < 100 || has_database(cut); command_client_reset(client)) {
        const char *answer = command_client_call(client, SAMPLE_PUT, "x", COMMAND_NORMAL);

        cr_assert_str_neq(answer, "no responders");
        cr_assert_lt(clock_mono_us(), until_us, "%d in a row, then %s", in_a_row, answer);
        in_a_row = strcmp(answer, "created x") == 0 ? in_a_row + 1 : 0;
    }
}

Test(actor_membership, leaves_commands_to_others_while_its_database_is_away)
{
    struct postgres_server own;
    struct actor *cut;
    int64_t start_us;

    postgres_server_prepare(&own);
    postgres_server_start(&own);
    postgres_fill(own.url, &sample_template);
    cut = actor_start(&(struct actor_options){.service = &sample_service,
                                              .metrics = metrics,
                                              .name = "sample-1",
                                              .bus_url = nats.url,
                                              .database_url = own.url});
    for (int round = 0; round < 3; round++) {
        int64_t before;

        if (round > 0)
            postgres_server_start(&own);
        before = postgres_integer(own.url, "SELECT count(*) FROM sample");
        for (; postgres_integer(own.url, "SELECT count(*) FROM sample") == before;
             command_client_reset(client))
            cr_assert(has_answer("created x"));
        postgres_server_crash(&own);
        expect_only_the_other_to_answer(cut);
    }
    start_us = clock_mono_us();
    actor_free(cut);
    cr_assert_lt(clock_mono_us() - start_us, 8 * 1000000,
                 "without its database it does not end until its timeout, after 10 s");
    postgres_server_stop(&own);
}

/* -- programs that hang ---------------------------------------------------------------------- */

/* A session between its statements and its commit, like an actor that hangs there. */
static PGconn *begin_as(const char *name, const char *statement)
{
    char named[POSTGRES_URL_MAX + 64];
    PGconn *link;

    (void)snprintf(named, sizeof(named), "%s%capplication_name=%s", url,
                   strchr(url, '?') == NULL ? '?' : '&', name);
    link = PQconnectdb(named);
    cr_assert_eq(PQstatus(link), CONNECTION_OK);
    cr_assert(PQenterPipelineMode(link));
    cr_assert(PQsendQueryParams(link, statement, 0, NULL, NULL, NULL, NULL, 0));
    cr_assert(PQsendFlushRequest(link) && PQflush(link) == 0);
    return link;
}

static bool is_there(const char *name)
{
    char query[160];

    (void)snprintf(query, sizeof(query),
                   "SELECT count(*) FROM pg_stat_activity WHERE application_name = '%s'"
                   " AND datname = current_database()",
                   name);
    return count(query) == 1;
}

Test(actor_membership, ends_sessions_that_hang_in_a_transaction)
{
    const int64_t start_us = clock_mono_us();
    PGconn *hung = begin_as("hung", "SELECT pg_advisory_xact_lock(2)");

    for (; is_there("hung"); usleep(10000))
        cr_assert_lt(clock_mono_us() - start_us, HEALED_US);
    cr_assert_str_eq(command_client_call(client, SAMPLE_PUT, "lock-2", COMMAND_NORMAL),
                     "created lock-2");
    cr_assert_eq(metric_read(metrics->hung_sessions), 1);
    PQfinish(hung);
}

/* -- starting -------------------------------------------------------------------------------- */

Test(actor_membership, leaves_commands_to_others_until_its_database_is_there)
{
    struct postgres_server own;
    int64_t until_us;

    actor_free(actor);
    postgres_server_prepare(&own);
    postgres_server_start(&own);
    postgres_fill(own.url, &sample_template);
    postgres_server_crash(&own);
    actor = actor_start(&(struct actor_options){.service = &sample_service,
                                                .metrics = metrics,
                                                .name = "sample-0",
                                                .bus_url = nats.url,
                                                .database_url = own.url});
    while (actor_bus_trouble(actor) != NULL)
        usleep(1000);
    until_us = clock_mono_us() + 300000; /* time for more than one step */
    while (clock_mono_us() < until_us) {
        command_client_reset(client);
        cr_assert_str_eq(command_client_call(client, SAMPLE_PUT, "x", COMMAND_NORMAL),
                         "no responders");
    }
    postgres_server_start(&own);
    do
        command_client_reset(client);
    while (strcmp(command_client_call(client, SAMPLE_PUT, "x", COMMAND_NORMAL), "no responders") ==
           0);
    cr_assert(has_database(actor));
    cr_assert_str_eq(command_client_call(client, SAMPLE_PUT, "y", COMMAND_NORMAL), "created y");
    actor_free(actor);
    actor = NULL;
    postgres_server_stop(&own);
}
