#include <inttypes.h>
#include <stdio.h>

#include "actor_sql.h"
#include "common/actor/actor_internal.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/db/params.h"
#include "proto/subject.h"

enum {
    HUNG_TIMEOUT_US = 1000 * 1000,
    HUNG_EVERY_US = 3 * 1000 * 1000,
    IDLE_US = 1000 * 1000,
    CLOCK_SLOW_US = 1000 * 1000,
    CLOCK_KNOWN_US = 10 * 1000 * 1000,
};

/* -- the database's clock ---------------------------------------------------------------------- */

size_t upkeep_database_time(const struct discovery *discovery, char text[UPKEEP_TIME_TEXT],
                            struct bus_header *out)
{
    const int64_t since_us = clock_mono_us() - discovery->database_read_us;

    if (discovery->database_read_us == 0 || since_us > CLOCK_KNOWN_US)
        return 0;
    snprintf(text, UPKEEP_TIME_TEXT, "%" PRId64, discovery->database_ms + since_us / 1000);
    *out = (struct bus_header){BUS_DATABASE_CLOCK_HEADER, text};
    return 1;
}

static int64_t database_clock_apart_ms(const struct actor *actor)
{
    return clock_check_apart_ms(&actor->clock_check, CLOCK_OF_DATABASE);
}

/* A slow answer says little of the clock, and is not passed on. */
static void note_database_clock(struct actor *actor, int64_t asked_us, int64_t took_us,
                                int64_t theirs_ms)
{
    const int64_t was_ms = database_clock_apart_ms(actor);
    int64_t apart_ms;

    clock_check_note(&actor->clock_check, CLOCK_OF_DATABASE, asked_us / 1000, clock_us() / 1000,
                     theirs_ms);
    if (took_us < CLOCK_SLOW_US) {
        actor->discovery.database_ms = theirs_ms;
        actor->discovery.database_read_us = clock_mono_us();
    }
    apart_ms = database_clock_apart_ms(actor);
    metric_set(actor->metrics->database_clock, clock_seconds(apart_ms));
    if (clock_is_apart(apart_ms) != clock_is_apart(was_ms))
        LOG(clock_is_apart(apart_ms) ? LOG_ERROR : LOG_WARNING,
            clock_is_apart(apart_ms) ? "our clock differs too much from that of the database"
                                     : "our clock agrees with that of the database again",
            log_int("ahead_ms", apart_ms));
}

/* -- what is done from time to time ----------------------------------------------------------- */

/* Any process does this for all services, since a hung one cannot do it for itself. The locks of a
   program that hangs in a transaction are released within ten seconds: five until it counts as
   hung, three between two checks, and the longest time that a step takes. A check takes the database
   0.1 ms. */
static void end_hung_sessions(struct actor *actor, int64_t now_us)
{
    struct params params = {.n = 0};
    const int64_t asked_us = clock_us();
    const struct db_rows *rows;

    if (now_us < actor->hung_due_us)
        return;
    actor->hung_due_us = now_us + HUNG_EVERY_US;
    if (db_once(actor->batch->db, actor->end_hung_sessions, &params, HUNG_TIMEOUT_US) != ST_OK)
        return;
    rows = db_result(actor->batch->db, 0);
    note_database_clock(actor, asked_us, clock_mono_us() - now_us,
                        db_value_int(rows, 0, END_HUNG_SESSIONS_NOW_MS));
    for (size_t i = 0; i < db_rows_count(rows); i++) {
        struct str session = db_value(rows, i, END_HUNG_SESSIONS_SESSION);

        if (session.p == NULL)
            continue; /* none, or it was gone */
        metric_add(actor->metrics->hung_sessions, 1);
        LOG(LOG_WARNING,
            "ended a database session whose program hangs in a transaction, or takes too long",
            log_slice("session", session));
    }
}

int64_t upkeep_do(struct actor *actor, int64_t now_us)
{
    const struct service *const service = actor->service;
    struct batch *const batch = actor->batch;
    int64_t due_us = INT64_MAX;

    if (service == actor->metrics->service) {
        end_hung_sessions(actor, now_us);
        due_us = actor->hung_due_us;
    }
    if (service->on_idle != NULL) {
        due_us = now_us + IDLE_US;
        if (db_is_up(batch->db))
            service->on_idle(batch->db, &batch->arena, service->self);
    }
    arena_clear(&batch->arena);
    return due_us;
}
