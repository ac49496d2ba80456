#include "services/convctl/move_copy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "services/convctl/move_lost.h"
#include "services/convctl/move_room.h"

enum {
    PAUSE_MS = 5,
    LOOK_MS = 200,
    SEAL_MS = 60000,  /* for the new cell to seal all entries that it has now */
    DRAIN_MS = 40000, /* for delivery attempts in flight */
    CLOSED_MS = 1800, /* for the steps while the organization is closed */
    FAILURES_MAX = 2,
    LAG_MAX = 1024 * 1024, /* bytes of write-ahead log, before closing */
    KEPT_MS = 9000,        /* well before audit.closed_for() is over */
    TRIES = 5,             /* to close it within CLOSED_MS */
};

/* -- copying ----------------------------------------------------------------------------------- */

bool move_has_brought(const struct move *move)
{
    return strcmp(move_answered(move->to.admin, READ_CELL_STATE), "arriving") == 0;
}

static enum status check(struct move *move, const char *org, const char **number,
                         const char **partitions)
{
    const char *dropped;
    bool has_slot, is_subscribed;

    if (move_ask(move, move->from.admin, SQL_READ_CELL, PARAMS(org)) != ST_OK)
        return ST_REFUSED;
    *number = arena_printf(move->arena, "%s", move_answered(move->from.admin, READ_CELL_NUMBER));
    *partitions =
        arena_printf(move->arena, "%s", move_answered(move->from.admin, READ_CELL_PARTITIONS));
    dropped = arena_printf(move->arena, "%s", move_answered(move->from.admin, READ_CELL_DROPPED));
    has_slot = move_is_true(move->from.admin, READ_CELL_HAS_SLOT);
    if (move_ask(move, move->to.admin, SQL_READ_CELL, PARAMS(org)) != ST_OK)
        return ST_REFUSED;
    is_subscribed = move_is_true(move->to.admin, READ_CELL_IS_SUBSCRIBED);
    if ((is_subscribed ? !has_slot : move_is_true(move->to.admin, READ_CELL_HAS_ROWS)) ||
        move_is_true(move->to.admin, READ_CELL_IS_DISABLED))
        return move_failed(
            move, "conflict",
            arena_printf(move->arena,
                         move_has_brought(move)
                             ? "cell %s has remains of an aborted move; --abort removes them"
                             : "cell %s has rows of the organization that do not come from this "
                               "move; --abort leaves them there (docs/cells.md, Back up)",
                         move->to.name));
    if (strcmp(dropped, move_answered(move->to.admin, READ_CELL_DROPPED)) != 0)
        return move_failed(move, "conflict",
                           "the cells have dropped different months of the audit log: give them "
                           "the same retention, and wait until it has run");
    return ST_OK;
}

static enum status subscribe(struct move *move, const char *org)
{
    if (move_ask_within(move, move->to.admin, SQL_SUBSCRIBE, PARAMS(org, move->from_url)) == ST_OK)
        return ST_OK;
    if (strcmp(move->failure->code, "timeout") == 0)
        return move_failed(
            move, "timeout",
            arena_printf(move->arena,
                         "the database of cell %s could not connect to that of cell %s within %d "
                         "seconds with the URL in CELL_DATABASES; repeat the call to resume",
                         move->to.name, move->from.name, move->give_up_s));
    return ST_REFUSED;
}

/* Starts to copy and follow the rows. Each step is safe to repeat. Once the subscription exists,
   all of them are done, and the new cell does not seal the rows that arrive. */
enum status move_begin_copying(struct move *move, const char *org)
{
    const char *number = "", *partitions = "";

    if (check(move, org, &number, &partitions) != ST_OK)
        return ST_REFUSED;
    if (move_is_true(move->to.admin, READ_CELL_IS_SUBSCRIBED))
        return ST_OK;
    if (move_expect_room(move, org) != ST_OK ||
        move_ask_again(move, move->to.admin, SQL_MAKE_PARTITIONS, PARAMS(partitions)) != ST_OK ||
        move_ask_again(move, move->to.admin, SQL_RAISE_NUMBERS, PARAMS(number)) != ST_OK ||
        move_ask(move, move->to.admin, SQL_SET_MOVING, PARAMS(org, "arriving")) != ST_OK ||
        !move_await(move, move->to.admin, SQL_IS_SEALED, PARAMS(number), "t", SEAL_MS, LOOK_MS) ||
        move_ask(move, move->from.admin, SQL_PUBLISH, PARAMS(org)) != ST_OK ||
        move_note_slots(move, org) != ST_OK || move_create_slot(move, org) != ST_OK)
        return ST_REFUSED;
    return subscribe(move, org);
}

/* Lag in bytes; negative: the slot is gone, or the log that it needs is. */
static int64_t lag_of(struct move *move, const char *org, const char *end)
{
    if (move_ask(move, move->from.admin, SQL_READ_LAG, PARAMS(org, end)) != ST_OK)
        return -1;
    if (db_admin_rows(move->from.admin) == 0) {
        (void)move_failed(
            move, "server_error",
            "the replication slot, or the write-ahead log that it needs, no longer exists");
        return -1;
    }
    const int64_t lag = strtoll(move_answered(move->from.admin, READ_LAG_LAG), NULL, 10);

    return lag > 0 ? lag : 0;
}

/* Whether there is progress, by the latest answers: about the subscription and, once all is copied,
   about the slot. */
static bool comes_on(struct move *move, bool is_copied, struct move_progress *progress)
{
    char now[sizeof(progress->seen)];

    snprintf(now, sizeof(now), "%s %s", move_answered(move->to.admin, READ_COPYING_PROGRESS),
             is_copied ? move_answered(move->from.admin, READ_LAG_CONFIRMED) : "");
    return move_comes_on(move, progress, now);
}

/* Counts from the first call on, since PostgreSQL never resets its counters. */
static bool fails_too_often(struct move *move, long long *before)
{
    const long long failures =
        strtoll(move_answered(move->to.admin, READ_COPYING_FAILURES), NULL, 10);

    if (*before < 0)
        *before = failures;
    return failures > *before + FAILURES_MAX;
}

/* Shows the number of copied tables when it has changed. */
static void show_copied(struct move *move, long long *before)
{
    const char *const copied = move_answered(move->to.admin, READ_COPYING_COPIED);
    const long long now = strtoll(copied, NULL, 10);

    if (now != *before)
        move_show(move, "%s of %s tables are copied", copied,
                  move_answered(move->to.admin, READ_COPYING_TABLES));
    *before = now;
}

enum status move_await_copy(struct move *move, const char *org)
{
    struct move_progress progress = {.seen = ""};
    long long failures = -1, copied = 0;
    bool is_copied;

    for (;;) {
        if (move_ask(move, move->to.admin, SQL_READ_COPYING, PARAMS(org)) != ST_OK)
            return ST_REFUSED;
        show_copied(move, &copied);
        if (fails_too_often(move, &failures))
            return move_failed(
                move, "server_error",
                arena_printf(move->arena,
                             "rows cannot be copied: see the log of cell %s's database",
                             move->to.name));
        is_copied = move_is_true(move->to.admin, READ_COPYING_IS_COPIED);
        if (is_copied) {
            const int64_t lag = lag_of(move, org, NULL);

            if (lag < LAG_MAX)
                return lag < 0 ? ST_REFUSED : ST_OK;
        }
        if (!comes_on(move, is_copied, &progress))
            return move_failed_standing(move, org);
        move_pause(LOOK_MS);
    }
}

/* -- closing ----------------------------------------------------------------------------------- */

/* Sets the state and waits until all transactions that began before its commit have ended: from
   then on every service sees it. */
static bool set_state(struct move *move, const char *org, const char *state, int timeout_ms)
{
    const char *committed;

    if (move_ask(move, move->from.admin, SQL_SET_MOVING, PARAMS(org, state)) != ST_OK ||
        move_ask(move, move->from.admin, SQL_READ_MOMENT, NULL, 0) != ST_OK)
        return false;
    committed = arena_printf(move->arena, "%s", move_answered(move->from.admin, 0));
    return move_await(move, move->from.admin, SQL_COUNT_OLDER, PARAMS(committed), "0", timeout_ms,
                      PAUSE_MS);
}

static bool drain(struct move *move, const char *org)
{
    return set_state(move, org, "leaving", DRAIN_MS) &&
           move_await(move, move->from.admin, SQL_COUNT_CLAIMS, PARAMS(org), "0", DRAIN_MS,
                      PAUSE_MS);
}

/* Waits until the other cell has everything that is in the log now. */
static bool catch_up(struct move *move, const char *org, int64_t until_us)
{
    const char *end;
    int64_t lag = lag_of(move, org, NULL);

    if (lag < 0)
        return false;
    end = arena_printf(move->arena, "%s", move_answered(move->from.admin, READ_LAG_WAL_END));
    while ((lag = lag_of(move, org, end)) > 0) {
        if (clock_mono_us() >= until_us) {
            (void)move_failed(
                move, "timeout",
                "the other cell does not keep up; nothing has changed, try again later");
            return false;
        }
        move_pause(PAUSE_MS);
    }
    return lag == 0;
}

bool move_compare(struct move *move, const char *org, bool is_exact, struct db_admin *from,
                  struct db_admin *to, int64_t *rows)
{
    const char *const exact = is_exact ? "true" : "false";
    bool is_same = true;

    *rows = 0;
    if (move_ask_both(move, from, to, SQL_SUM_ROWS, PARAMS(org, exact)) != ST_OK)
        return false;
    for (size_t i = 0; i < db_admin_rows(from); i++) {
        const char *here = db_admin_value(from, i, SUM_ROWS_SUMS);
        const char *there = i < db_admin_rows(to) ? db_admin_value(to, i, SUM_ROWS_SUMS) : NULL;

        *rows += strtoll(here, NULL, 10);
        if (is_same && (there == NULL || strcmp(here, there) != 0)) {
            is_same = false;
            (void)move_failed(move, "server_error",
                              arena_printf(move->arena, "%s differs: %s in cell %s, %s in cell %s",
                                           db_admin_value(from, i, SUM_ROWS_NAME), here,
                                           move->from.name, there != NULL ? there : "nothing",
                                           move->to.name));
        }
    }
    return is_same;
}

/* Takes a snapshot that later statements of the connection use. */
static bool hold(struct move *move, struct db_admin *on)
{
    if (db_admin_script(on, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM audit.moving") ==
        ST_OK)
        return true;
    (void)move_failed(move, "server_error", arena_printf(move->arena, "%s", db_admin_error(on)));
    return false;
}

/* If that fails, the connection is lost, and the snapshot with it. */
void move_let_go(struct move *move)
{
    enum status st = db_admin_script(move->from.snapshot, "ROLLBACK");

    if (st == ST_OK)
        st = db_admin_script(move->to.snapshot, "ROLLBACK");
    if (st != ST_OK)
        (void)move_failed(move, "server_error", "the connection to a cell's database was lost");
}

/* An attempt may have started if draining took longer than the state "leaving" is in force. */
static bool has_no_claims(struct move *move, const char *org)
{
    return move_ask(move, move->from.admin, SQL_COUNT_CLAIMS, PARAMS(org)) == ST_OK &&
           strcmp(move_answered(move->from.admin, 0), "0") == 0;
}

/* True: closed, and the other cell has everything. False: the organization is served as before, in
   time. KEEP_CLOSED must commit before the state "closed" expires. */
static bool close_once(struct move *move, const char *org)
{
    int64_t until_us;

    move->closed_us = clock_mono_us();
    until_us = move->closed_us + CLOSED_MS * INT64_C(1000);
    return set_state(move, org, "closed", CLOSED_MS) && has_no_claims(move, org) &&
           catch_up(move, org, until_us) && hold(move, move->from.snapshot) &&
           hold(move, move->to.snapshot) &&
           move_compare(move, org, move->rows <= MOVE_EXACT_MAX, move->from.snapshot,
                        move->to.snapshot, &move->rows) &&
           clock_mono_us() < until_us &&
           move_ask(move, move->from.admin, SQL_KEEP_CLOSED, PARAMS(org)) == ST_OK &&
           move_answered(move->from.admin, 0)[0] != '\0' &&
           clock_mono_us() < move->closed_us + KEPT_MS * INT64_C(1000);
}

enum status move_close(struct move *move, const char *org)
{
    int64_t rows;

    /* Reads the rows that will be compared, so that they are in memory, and counts them. They still
       change. */
    if (!move_compare(move, org, false, move->from.admin, move->to.admin, &rows))
        *move->failure = (struct convctl_failure){NULL, NULL};
    move->rows = rows;
    move_show(move, "waiting for the deliveries under way in cell %s", move->from.name);
    if (!drain(move, org))
        return ST_REFUSED;
    for (int i = 0; i < TRIES; i++) {
        move->is_held = close_once(move, org);
        if (move->is_held)
            return ST_OK;
        move_let_go(move);
        /* Opens it, so that the seal catches up with the entries that it skipped, and drains
           again. */
        if (move_ask(move, move->from.admin, SQL_OPEN, PARAMS(org)) != ST_OK || !drain(move, org))
            return ST_REFUSED;
    }
    return move->failure->code != NULL
               ? ST_REFUSED
               : move_failed(move, "timeout", "the organization would be closed for too long");
}
