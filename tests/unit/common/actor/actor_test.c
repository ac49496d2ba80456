/* An actor between a real nats-server and a real PostgreSQL, with a toy for a service. */
#include "common/actor/actor.h"

#include <criterion/criterion.h>
#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/actor/meters.h"
#include "common/base/clock.h"
#include "tests/support/asker.h"
#include "tests/support/lenient.h"
#include "tests/support/nats_server.h"
#include "tests/support/postgres_server.h"
#include "tests/support/toy.h"

/* -- a bus, a database and an actor for each test -------------------------------------------- */

static struct postgres_server database;
static const char *const url = database.url;
static struct nats_server nats;
static struct meters *meters;
static struct actor *actor;
static struct asker *asker;
static PGconn *gate; /* holds commands back by a lock that the toy's `block` waits for */

static void start_actor_of(const struct service *service, size_t mailbox_most)
{
    actor = actor_start(&(struct actor_options){
        .service = service,
        .meters = meters,
        .name = "toy-0",
        .bus_url = nats.url,
        .database_url = url,
        .mailbox_most = mailbox_most,
    });
    cr_assert_not_null(actor);
    while (!actor_bus_is_up(actor) || !actor_database_is_up(actor))
        usleep(1000);
    /* Up is not yet subscribed. */
    while (strcmp(asker_ask_one(asker, TOY_PUT, "", ASKER_NORMAL), "no responders") == 0)
        usleep(1000);
    asker_forget(asker);
    postgres_do(url, "DELETE FROM audit.entries");
}

static void start_actor(size_t mailbox_most)
{
    start_actor_of(&toy_service, mailbox_most);
}

static void open_all(void)
{
    postgres_server_share(&database);
    postgres_do(url, toy_schema);
    nats_server_prepare(&nats, NULL);
    nats_server_start(&nats);
    meters = meters_new(&toy_service);
    asker = asker_new(nats.url);
    gate = PQconnectdb(url);
}

static void setup(void)
{
    open_all();
    start_actor(0);
}

static void teardown(void)
{
    PQfinish(gate);
    actor_free(actor);
    asker_free(asker);
    meters_free(meters);
    nats_server_stop(&nats);
}

TestSuite(actor, .init = setup, .fini = teardown, .timeout = 60);

static int64_t count(const char *query)
{
    return postgres_integer(url, query);
}

static void close_gate(void)
{
    PQclear(PQexec(gate, "SELECT pg_advisory_lock(1)"));
}

static void open_gate(void)
{
    PQclear(PQexec(gate, "SELECT pg_advisory_unlock(1)"));
}

/* Lets the actor wait inside a transaction of its own; what is asked then waits for one batch. */
static void hold_back(void)
{
    close_gate();
    asker_send(asker, TOY_BLOCK, "", ASKER_NORMAL);
    asker_round_trip(asker);
    postgres_await(url, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'toy-0'"
                        " AND wait_event_type = 'Lock' AND datname = current_database()");
}

static void let_go(void)
{
    asker_round_trip(asker);
    open_gate();
}

#define KILL_BACKEND                                                                               \
    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"                                \
    " WHERE application_name = 'toy-0' AND datname = current_database()"

/* -- batches ----------------------------------------------------------------------------------- */

Test(actor, answers_a_command_and_records_it)
{
    cr_assert_str_eq(asker_ask_one(asker, TOY_PUT, "one", ASKER_NORMAL), "created one");
    cr_assert_eq(asker_count_unrecorded(asker), 0);
    cr_assert_eq(count("SELECT count(*) FROM toy WHERE id = 'one'"), 1);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries WHERE http_status = 201"
                       " AND operation = 'conversation.create' AND outcome = 'allowed'"
                       " AND denial_reason IS NULL AND contact_id IS NULL"
                       " AND conversation_id IS NOT NULL"),
                 1);
}

Test(actor, lets_a_command_ask_for_more_in_the_same_transaction)
{
    hold_back();
    asker_send(asker, TOY_PUT, "one", ASKER_NORMAL);
    asker_send(asker, TOY_PUT, "more-bad", ASKER_NORMAL);
    asker_send(asker, TOY_PUT, "more-two", ASKER_NORMAL);
    let_go();
    asker_await(asker, 4);
    cr_assert_eq(asker_count(asker, "created"), 3);
    cr_assert_eq(asker_count(asker, "server_error"), 1);
    cr_assert_eq(count("SELECT count(*) FROM toy WHERE id IN ('one', 'more-two', 'two')"), 3);
    cr_assert_eq(count("SELECT count(*) FROM toy WHERE id = 'more-bad'"), 0);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 4);
}

Test(actor, says_that_it_recorded_nothing_without_a_ledger)
{
    struct service reader = toy_service;

    reader.ledger = NULL;
    actor_free(actor);
    start_actor_of(&reader, 0);
    int before = asker_count_unrecorded(asker);
    cr_assert_str_eq(asker_ask_one(asker, TOY_PUT, "one", ASKER_NORMAL), "created one");
    cr_assert_eq(asker_count_unrecorded(asker), before + 1);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 0);
}

Test(actor, commits_what_waits_together_with_its_entries)
{
    hold_back();
    for (int i = 0; i < 100; i++)
        asker_send_number(asker, TOY_PUT, "item-%d", i);
    let_go();
    asker_await(asker, 101);
    cr_assert_eq(asker_count(asker, "created"), 101);
    cr_assert_eq(count("SELECT count(*) FROM toy"), 101);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 101);
    /* The one that held the others back, and at most two more: each with its entries. */
    cr_assert_leq(count("SELECT count(DISTINCT xmin::text) FROM toy"), 3);
    cr_assert_eq(count("SELECT count(*) FROM (SELECT xmin::text FROM toy EXCEPT"
                       " SELECT xmin::text FROM audit.entries) AS t"),
                 0);
}

Test(actor, runs_commands_in_the_order_of_their_locks)
{
    hold_back();
    asker_send(asker, TOY_PUT, "order-3", ASKER_NORMAL);
    asker_send(asker, TOY_PUT, "order-1", ASKER_NORMAL);
    asker_send(asker, TOY_PUT, "order-2", ASKER_NORMAL);
    let_go();
    asker_await(asker, 4);
    cr_assert_eq(count("SELECT count(*) FROM (SELECT string_agg(id, ',' ORDER BY seq) AS ids"
                       " FROM toy WHERE id LIKE 'order-%') AS t"
                       " WHERE ids = 'order-1,order-2,order-3'"),
                 1);
}

Test(actor, keeps_a_bad_command_from_harming_its_neighbours)
{
    hold_back();
    for (int i = 0; i < 10; i++)
        asker_send_number(asker, TOY_PUT, "before-%d", i);
    asker_send(asker, TOY_PUT, "bad", ASKER_NORMAL);
    for (int i = 0; i < 10; i++)
        asker_send_number(asker, TOY_PUT, "after-%d", i);
    let_go();
    asker_await(asker, 22);
    cr_assert_eq(asker_count(asker, "created"), 21);
    cr_assert_eq(asker_count(asker, "server_error"), 1);
    cr_assert_eq(count("SELECT count(*) FROM toy"), 21);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 22);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries WHERE http_status = 500"
                       " AND outcome = 'error'"),
                 1);
}

Test(actor, records_refusals_and_writes_nothing_else)
{
    cr_assert_str_eq(asker_ask_one(asker, TOY_PUT, "", ASKER_NORMAL),
                     "parameter_not_found [{\"code\":\"parameter_not_found\","
                     "\"message\":\"must not be empty\",\"field\":\"body\"}]");
    cr_assert_eq(count("SELECT count(*) FROM toy"), 0);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries WHERE http_status = 400"
                       " AND outcome = 'rejected'"),
                 1);
}

Test(actor, rings_the_doorbell_after_the_commit)
{
    asker_listen(asker, TOY_DOORBELL);
    cr_assert_str_eq(asker_ask_one(asker, TOY_PUT, "ring", ASKER_NORMAL), "created ring");
    asker_await_notice(asker);
}

/* -- running again --------------------------------------------------------------------------- */

Test(actor, runs_a_command_again_that_lost_a_race)
{
    hold_back();
    asker_send(asker, TOY_PUT, "retry-2", ASKER_NORMAL);
    asker_send(asker, TOY_PUT, "neighbour", ASKER_NORMAL);
    let_go();
    asker_await(asker, 3);
    cr_assert_eq(asker_count(asker, "created"), 3);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 3);
}

Test(actor, gives_up_on_a_race_that_never_settles_and_records_it)
{
    cr_assert(strstr(asker_ask_one(asker, TOY_PUT, "retry-99", ASKER_NORMAL), "server_error "));
    cr_assert_eq(count("SELECT count(*) FROM toy"), 0);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries WHERE http_status = 500"), 1);
}

Test(actor, drops_a_command_whose_request_is_on_record_already)
{
    hold_back();
    asker_send(asker, TOY_PUT, "mine", ASKER_NORMAL);
    asker_send(asker, TOY_PUT, "late", ASKER_SAME_REQUEST);
    asker_send(asker, TOY_PUT, "last", ASKER_NORMAL);
    let_go();
    asker_await(asker, 3);
    cr_assert_str_eq(asker_ask_one(asker, TOY_PUT, "behind", ASKER_NORMAL), "created behind");
    cr_assert_eq(asker_count(asker, "created"), 4);
    cr_assert_eq(count("SELECT count(*) FROM toy WHERE id = 'late'"), 0);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 4);
}

/* -- commands that are not run --------------------------------------------------------------- */

Test(actor, drops_a_command_past_its_deadline)
{
    asker_send(asker, TOY_PUT, "late", ASKER_EXPIRED);
    cr_assert_str_eq(asker_ask_one(asker, TOY_PUT, "behind", ASKER_NORMAL), "created behind");
    cr_assert_eq(count("SELECT count(*) FROM toy"), 1);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 1);
}

Test(actor, knows_no_other_commands)
{
    cr_assert(strstr(asker_ask_one(asker, "v1.toy.other", "", ASKER_NORMAL), "unknown_command "));
    cr_assert(strstr(asker_ask_one(asker, TOY_PUT, "x", ASKER_ANONYMOUS), "unknown_command "));
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 0);
}

Test(actor, lets_no_reading_key_write)
{
    cr_assert(strstr(asker_ask_one(asker, TOY_PUT, "x", ASKER_READS), "insufficient_scope "));
    cr_assert_str_eq(asker_ask_one(asker, TOY_COUNT, "", ASKER_READS), "ok 0");
}

Test(actor, turns_away_what_its_mailbox_cannot_hold)
{
    actor_free(actor);
    start_actor(8);
    hold_back();
    for (int i = 0; i < 50; i++)
        asker_send_number(asker, TOY_PUT, "item-%d", i);
    let_go();
    asker_await(asker, 51);
    cr_assert_gt(asker_count(asker, "busy"), 0);
    cr_assert_gt(asker_count(asker, "created"), 8);
    cr_assert_eq(asker_count(asker, "busy") + asker_count(asker, "created"), 51);
    cr_assert_eq(count("SELECT count(*) FROM toy"), asker_count(asker, "created"));
}

/* -- links that end -------------------------------------------------------------------------- */

Test(actor, writes_nothing_of_a_batch_whose_backend_is_killed)
{
    hold_back();
    asker_round_trip(asker);
    postgres_do(url, KILL_BACKEND);
    asker_await(asker, 1);
    open_gate();
    cr_assert_eq(asker_count(asker, "unavailable"), 1);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 0);
    while (strcmp(asker_ask_one(asker, TOY_PUT, "then", ASKER_NORMAL), "created then") != 0)
        continue;
    cr_assert_eq(count("SELECT count(*) FROM toy"), 1);
}

Test(actor, is_uncertain_only_of_what_may_have_been_written)
{
    hold_back();
    asker_send(asker, TOY_PUT, "slow-commit", ASKER_NORMAL);
    asker_send(asker, TOY_PUT, "", ASKER_NORMAL);
    asker_send(asker, TOY_COUNT, "", ASKER_NORMAL);
    let_go();
    postgres_await(url, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'toy-0'"
                        " AND wait_event = 'PgSleep' AND datname = current_database()");
    postgres_do(url, KILL_BACKEND);
    asker_await(asker, 4);
    cr_assert_eq(asker_count(asker, "uncertain"), 1);
    cr_assert_eq(asker_count(asker, "unavailable"), 2);
}

Test(actor, answers_at_once_while_the_database_is_down_and_heals_by_itself)
{
    struct postgres_server own;
    int64_t start_us;

    actor_free(actor);
    postgres_server_prepare(&own);
    postgres_server_start(&own);
    postgres_do(own.url, toy_schema);
    snprintf(database.url, sizeof(database.url), "%s", own.url);
    start_actor(0);

    postgres_server_crash(&own);
    while (actor_database_is_up(actor))
        cr_assert(strstr(asker_ask_one(asker, TOY_PUT, "x", ASKER_NORMAL), "unavailable "));
    for (int i = 0; i < 5; i++) {
        start_us = clock_mono_us();
        cr_assert(strstr(asker_ask_one(asker, TOY_PUT, "x", ASKER_NORMAL), "unavailable "));
        cr_assert_lt(clock_mono_us() - start_us, lenient(500000));
    }
    postgres_server_start(&own);
    start_us = clock_mono_us();
    while (!actor_database_is_up(actor))
        usleep(1000);
    cr_assert_lt(clock_mono_us() - start_us, lenient(2000000));
    cr_assert_str_eq(asker_ask_one(asker, TOY_PUT, "x", ASKER_NORMAL), "created x");
    cr_assert_eq(count("SELECT count(*) FROM toy"), 1);
    PQfinish(gate);
    gate = NULL;
    actor_free(actor);
    actor = NULL;
    postgres_server_stop(&own);
}

/* -- starting -------------------------------------------------------------------------------- */

Test(actor, leaves_commands_to_others_until_its_database_is_there)
{
    struct postgres_server own;
    int64_t until_us;

    actor_free(actor);
    postgres_server_prepare(&own);
    postgres_server_start(&own);
    postgres_do(own.url, toy_schema);
    postgres_server_crash(&own);
    actor = actor_start(&(struct actor_options){.service = &toy_service,
                                                .meters = meters,
                                                .name = "toy-0",
                                                .bus_url = nats.url,
                                                .database_url = own.url});
    while (!actor_bus_is_up(actor))
        usleep(1000);
    until_us = clock_mono_us() + 300000; /* in which it turns more than once */
    while (clock_mono_us() < until_us) {
        asker_forget(asker);
        cr_assert_str_eq(asker_ask_one(asker, TOY_PUT, "x", ASKER_NORMAL), "no responders");
    }
    postgres_server_start(&own);
    do
        asker_forget(asker);
    while (strcmp(asker_ask_one(asker, TOY_PUT, "x", ASKER_NORMAL), "no responders") == 0);
    cr_assert(actor_database_is_up(actor));
    cr_assert_str_eq(asker_ask_one(asker, TOY_PUT, "y", ASKER_NORMAL), "created y");
    actor_free(actor);
    actor = NULL;
    postgres_server_stop(&own);
}

/* -- stopping -------------------------------------------------------------------------------- */

Test(actor, finishes_what_waits_when_it_is_stopped)
{
    hold_back();
    for (int i = 0; i < 10; i++)
        asker_send_number(asker, TOY_PUT, "item-%d", i);
    asker_round_trip(asker);
    actor_stop(actor);
    open_gate();
    asker_await(asker, 11);
    actor_free(actor);
    actor = NULL;
    cr_assert_eq(asker_count(asker, "created"), 11);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 11);
}
