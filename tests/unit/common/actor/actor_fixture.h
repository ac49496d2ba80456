/*
 * actor_fixture - an actor between a real nats-server and a real PostgreSQL, with a sample
 * service. Header-only.
 *
 * What     setup() starts all of it for one test, open_all() all but the actor.
 * Owns     teardown() ends what the test has not.
 * Fails    Fails the test.
 */
#ifndef TESTS_UNIT_COMMON_ACTOR_ACTOR_FIXTURE_H
#define TESTS_UNIT_COMMON_ACTOR_ACTOR_FIXTURE_H

#include <criterion/criterion.h>
#include <libpq-fe.h>
#include <string.h>
#include <unistd.h>

#include "common/actor/actor.h"
#include "common/actor/actor_metrics.h"
#include "common/base/clock.h"
#include "tests/support/command_client.h"
#include "tests/support/measure.h"
#include "tests/support/nats_server.h"
#include "tests/support/postgres_server.h"
#include "tests/support/sample_service.h"

enum { HEALED_US = 30 * 1000 * 1000 };

static struct postgres_server database;
static const char *const url = database.url;
static const char *actor_url = database.url; /* how the actor connects */
static struct nats_server nats;
static struct actor_metrics *metrics;
static struct actor *actor;
static struct actor *lane; /* the actor's, if a test has started one */
static struct command_client *client;
static PGconn *gate; /* holds commands back by a lock that the sample service's `block` waits for */

static inline bool has_database(const struct actor *of)
{
    return actor_database_trouble(of) == NULL;
}

/* Repeats a command until `answer` is in its reply. */
static inline void ask_until(const char *body, const char *answer)
{
    const int64_t until_us = clock_mono_us() + HEALED_US;

    do {
        cr_assert_lt(clock_mono_us(), until_us, "%s: never %s", body, answer);
        command_client_reset(client);
    } while (strstr(command_client_call(client, SAMPLE_PUT, body, COMMAND_NORMAL), answer) == NULL);
}

/* Most tests are about a batch that runs alone. */
static size_t batches = 1;

static inline void start_actor_of(const struct service *service, size_t mailbox_max)
{
    actor = actor_start(&(struct actor_options){
        .service = service,
        .metrics = metrics,
        .name = "sample-0",
        .bus_url = nats.url,
        .database_url = actor_url,
        .is_first = true,
        .mailbox_max = mailbox_max,
        .batches = batches,
        .slow_lane = lane,
    });
    cr_assert_not_null(actor);
    while (actor_bus_trouble(actor) != NULL || !has_database(actor))
        usleep(1000);
    ask_until("", "parameter_not_found "); /* a connection does not imply a subscription yet */
    command_client_reset(client);
    postgres_do(url, "DELETE FROM audit.entries");
}

static inline void start_lane_of(const struct service *service, size_t mailbox_max)
{
    lane = actor_start(&(struct actor_options){
        .service = service,
        .metrics = metrics,
        .name = "sample-slow-0",
        .bus_url = nats.url,
        .database_url = url,
        .mailbox_max = mailbox_max,
        .is_slow_lane = true,
    });
    cr_assert_not_null(lane);
    while (actor_bus_trouble(lane) != NULL || !has_database(lane))
        usleep(1000);
}

static inline void start_actor(size_t mailbox_max)
{
    start_actor_of(&sample_service, mailbox_max);
}

static inline void open_all(void)
{
    postgres_server_share(&database, &sample_template);
    nats_server_prepare(&nats, "max_payload: 8MB\n");
    nats_server_start(&nats);
    metrics = actor_metrics_new(&sample_service);
    client = command_client_new(nats.url);
    gate = PQconnectdb(url);
}

static inline void setup(void)
{
    open_all();
    start_actor(0);
}

static inline void teardown(void)
{
    PQfinish(gate);
    actor_free(actor);
    actor_free(lane);
    command_client_free(client);
    actor_metrics_free(metrics);
    nats_server_stop(&nats);
}

static inline int64_t count(const char *query)
{
    return postgres_integer(url, query);
}

static inline void close_gate(void)
{
    PQclear(PQexec(gate, "SELECT pg_advisory_lock(1)"));
}

static inline void open_gate(void)
{
    PQclear(PQexec(gate, "SELECT pg_advisory_unlock(1)"));
}

/* Sends all commands on their way to the actor: the server has read them after the first round
   trip, and forwarded them after the second. */
static inline void push(void)
{
    command_client_flush(client);
    command_client_flush(client);
}

#define AWAIT_BLOCKED(name)                                                                        \
    postgres_await(url, "SELECT count(*) FROM pg_stat_activity WHERE application_name = '" name    \
                        "' AND wait_event_type = 'Lock' AND datname = current_database()")

/* Blocks the actor inside a separate transaction; commands sent from then on form one batch. */
static inline void hold_back(void)
{
    close_gate();
    command_client_send(client, SAMPLE_BLOCK, "", COMMAND_NORMAL);
    push();
    AWAIT_BLOCKED("sample-0");
}

static inline void let_go(void)
{
    push();
    open_gate();
}

#endif
