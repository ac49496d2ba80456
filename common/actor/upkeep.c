#include "common/actor/upkeep.h"

#include "actor_sql.h"
#include "common/base/clock.h"
#include "common/base/log.h"

enum {
    HUNG_TIMEOUT_US = 1000 * 1000,
    HUNG_EVERY_US = 3 * 1000 * 1000,
    IDLE_US = 1000 * 1000,
    CLOCK_SLOW_US = 1000 * 1000,
};

/* A slow answer says little of the clock, and is not passed on. */
static void note_database_clock(struct upkeep *upkeep, struct discovery *discovery,
                                int64_t asked_us, int64_t took_us, int64_t theirs_ms)
{
    struct clock_check *check = &upkeep->clock_check;
    const bool was_skewed = clock_is_skewed(clock_check_skew_ms(check, CLOCK_OF_DATABASE));
    int64_t skew_ms;

    clock_check_note(check, CLOCK_OF_DATABASE, asked_us / 1000, clock_us() / 1000, theirs_ms);
    if (took_us < CLOCK_SLOW_US)
        discovery_note_database_clock(discovery, theirs_ms);
    skew_ms = clock_check_skew_ms(check, CLOCK_OF_DATABASE);
    metric_set(upkeep->metrics->database_clock, clock_seconds(skew_ms));
    if (clock_is_skewed(skew_ms) != was_skewed)
        LOG(was_skewed ? LOG_WARNING : LOG_ERROR,
            was_skewed ? "our clock agrees with that of the database again"
                       : "our clock differs too much from that of the database",
            log_int("ahead_ms", skew_ms));
}

/* Any process does this for all services, since a hung one cannot do it for itself. The locks of a
   program that hangs in a transaction are released within ten seconds: five until it counts as
   hung, three between two checks, and the longest time that a step takes. A check takes the database
   0.1 ms. */
static void end_hung_sessions(struct upkeep *upkeep, struct db *db, struct discovery *discovery,
                              int64_t now_us)
{
    const int64_t asked_us = clock_us();
    const struct db_rows *rows;

    if (now_us < upkeep->hung_due_us)
        return;
    upkeep->hung_due_us = now_us + HUNG_EVERY_US;
    if (db_once(db, upkeep->end_hung_sessions, NULL, HUNG_TIMEOUT_US) != ST_OK)
        return;
    rows = db_result(db, 0);
    note_database_clock(upkeep, discovery, asked_us, clock_mono_us() - now_us,
                        db_value_int(rows, 0, END_HUNG_SESSIONS_NOW_MS));
    for (size_t i = 0; i < db_rows_count(rows); i++) {
        struct str session = db_value(rows, i, END_HUNG_SESSIONS_SESSION);

        if (session.p == NULL)
            continue; /* none, or it was gone */
        metric_add(upkeep->metrics->hung_sessions, 1);
        LOG(LOG_WARNING,
            "ended a database session whose program hangs in a transaction, or takes too long",
            log_slice("session", session));
    }
}

void upkeep_do(struct upkeep *upkeep, struct db *db, struct arena *arena,
               struct discovery *discovery, int64_t now_us)
{
    const struct service *service = upkeep->service;

    upkeep->due_us = INT64_MAX;
    if (service == upkeep->metrics->service) {
        end_hung_sessions(upkeep, db, discovery, now_us);
        upkeep->due_us = upkeep->hung_due_us;
    }
    if (service->on_idle != NULL) {
        upkeep->due_us = now_us + IDLE_US;
        if (db_is_up(db))
            service->on_idle(db, arena, service->self);
    }
    arena_clear(arena);
}
