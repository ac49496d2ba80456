/*
 * acting - an actor between a real nats-server and a real PostgreSQL, with a toy for a service.
 * Header-only.
 *
 * What     setup() starts all of it for one test, open_all() all but the actor.
 * Owns     teardown() ends what the test has not.
 * Fails    Fails the test.
 */
#ifndef TESTS_UNIT_COMMON_ACTOR_ACTING_H
#define TESTS_UNIT_COMMON_ACTOR_ACTING_H

#include <criterion/criterion.h>
#include <libpq-fe.h>
#include <string.h>
#include <unistd.h>

#include "common/actor/actor.h"
#include "common/actor/meters.h"
#include "common/base/clock.h"
#include "tests/support/asker.h"
#include "tests/support/nats_server.h"
#include "tests/support/postgres_server.h"
#include "tests/support/toy.h"

enum { HEALED_US = 30 * 1000 * 1000 };

static struct postgres_server database;
static const char *const url = database.url;
static struct nats_server nats;
static struct meters *meters;
static struct actor *actor;
static struct asker *asker;
static PGconn *gate; /* holds commands back by a lock that the toy's `block` waits for */

/* Asks until that is in the answer, however often it takes. */
static inline void ask_until(const char *body, const char *answer)
{
    const int64_t until_us = clock_mono_us() + HEALED_US;

    do {
        cr_assert_lt(clock_mono_us(), until_us, "%s: never %s", body, answer);
        asker_forget(asker);
    } while (strstr(asker_ask_one(asker, TOY_PUT, body, ASKER_NORMAL), answer) == NULL);
}

static inline void start_actor_of(const struct service *service, size_t mailbox_most)
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
    ask_until("", "parameter_not_found "); /* up is not yet subscribed */
    asker_forget(asker);
    postgres_do(url, "DELETE FROM audit.entries");
}

static inline void start_actor(size_t mailbox_most)
{
    start_actor_of(&toy_service, mailbox_most);
}

static inline void open_all(void)
{
    postgres_server_share(&database, &toy_template);
    nats_server_prepare(&nats, NULL);
    nats_server_start(&nats);
    meters = meters_new(&toy_service);
    asker = asker_new(nats.url);
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
    asker_free(asker);
    meters_free(meters);
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

/* Everything that was asked is on its way to the actor: the server has read it with the first round
   trip, and with the second has passed it on. */
static inline void push(void)
{
    asker_round_trip(asker);
    asker_round_trip(asker);
}

/* Lets the actor wait inside a transaction of its own; what is asked then waits for one batch. */
static inline void hold_back(void)
{
    close_gate();
    asker_send(asker, TOY_BLOCK, "", ASKER_NORMAL);
    push();
    postgres_await(url, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'toy-0'"
                        " AND wait_event_type = 'Lock' AND datname = current_database()");
}

static inline void let_go(void)
{
    push();
    open_gate();
}

#endif
