#include "services/convctl/move_close.h"

#include <string.h>

#include "common/base/clock.h"
#include "services/convctl/move_copy.h"

enum {
    PAUSE_MS = 5,
    LOOK_MS = 200,
    DRAIN_MS = 40000,   /* for delivery attempts in flight */
    CLOSED_MS = 1500,   /* for the steps while the organization is closed */
    REHEARSED_MS = 500, /* for the same steps while it is open */
    TRIES = 3,
};

/* Waits until the transactions of services that run now have ended: every later one sees what has
   been committed before. */
static bool fence(struct move *move, int timeout_ms)
{
    const char *running;

    if (move_ask(move, move->from.admin, SQL_LIST_RUNNING, NULL, 0) != ST_OK)
        return false;
    running = arena_printf(move->arena, "%s", move_answered(move->from.admin, 0));
    return move_await(move, move->from.admin, SQL_COUNT_RUNNING, PARAMS(running), "0", timeout_ms,
                      PAUSE_MS);
}

static bool set_state(struct move *move, const char *org, const char *state, int timeout_ms)
{
    return move_ask(move, move->from.admin, SQL_SET_MOVING, PARAMS(org, state)) == ST_OK &&
           fence(move, timeout_ms);
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
    int64_t lag = move_lag(move, org, NULL);

    if (lag < 0)
        return false;
    end = arena_printf(move->arena, "%s", move_answered(move->from.admin, READ_LAG_WAL_END));
    while ((lag = move_lag(move, org, end)) > 0) {
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

/* Finds out where the new cell has to look for entries that were not sealed in the old one. `sealed`
   is from before the organization was closed: the seal passes over it since. */
static bool find_unsealed(struct move *move, const char *org, const char *sealed)
{
    if (move_ask(move, move->from.admin, SQL_FIND_UNSEALED, PARAMS(org, sealed)) != ST_OK)
        return false;
    move->unsealed_since = arena_printf(move->arena, "%s", move_answered(move->from.admin, 0));
    return true;
}

static const char *read_sealed(struct move *move)
{
    if (move_ask(move, move->from.admin, SQL_READ_SEALED, NULL, 0) != ST_OK)
        return NULL;
    return arena_printf(move->arena, "%s", move_answered(move->from.admin, 0));
}

/* OPEN waits for the process that seals. */
static bool may_open(struct move *move, const struct cell *cell)
{
    const enum status st = move_script(move, cell->admin,
                                       "BEGIN; SET LOCAL lock_timeout = '500ms';"
                                       "LOCK TABLE audit.sealing IN EXCLUSIVE MODE");

    if (strcmp(db_admin_sqlstate(cell->admin), MOVE_LOCK_NOT_AVAILABLE) == 0)
        (void)move_failed(move, "timeout",
                          arena_printf(move->arena,
                                       "the table audit.sealing in the database of cell %s stays "
                                       "locked; nothing has changed, try again later",
                                       cell->name));
    return move_let_go(move, cell->admin) == ST_OK && st == ST_OK;
}

/* Waits until closing would take a moment only. So a move that cannot be done closes nothing. */
static bool rehearse(struct move *move, const char *org, enum status (*is_ready)(struct move *move))
{
    const int64_t give_up_us = clock_mono_us() + move->give_up_s * INT64_C(1000000);

    for (;;) {
        *move->failure = (struct convctl_failure){NULL, NULL};
        const bool opens = may_open(move, &move->from) && may_open(move, &move->to);
        const int64_t until_us = clock_mono_us() + REHEARSED_MS * INT64_C(1000);
        const char *const sealed = read_sealed(move);

        if (sealed == NULL || is_ready(move) != ST_OK)
            return false;
        if (opens && fence(move, REHEARSED_MS) && catch_up(move, org, until_us) &&
            find_unsealed(move, org, sealed) && clock_mono_us() < until_us)
            return true;
        if (clock_mono_us() >= give_up_us)
            break;
        move_pause(LOOK_MS);
    }
    if (move->failure->code == NULL)
        (void)move_failed(move, "timeout", "the organization would be closed for too long");
    return false;
}

/* An attempt may have started if draining took longer than the state "leaving" is in force. */
static bool has_no_claims(struct move *move, const char *org)
{
    return move_ask(move, move->from.admin, SQL_COUNT_CLAIMS, PARAMS(org)) == ST_OK &&
           strcmp(move_answered(move->from.admin, 0), "0") == 0;
}

/* True: closed, and the other cell has everything. KEEP_CLOSED finds out whether it has been closed
   all the time. */
static bool close_once(struct move *move, const char *org)
{
    const char *const sealed = read_sealed(move);
    int64_t until_us;

    move->closed_us = clock_mono_us();
    until_us = move->closed_us + CLOSED_MS * INT64_C(1000);
    return sealed != NULL && set_state(move, org, "closed", CLOSED_MS) &&
           has_no_claims(move, org) && catch_up(move, org, until_us) &&
           find_unsealed(move, org, sealed) && clock_mono_us() < until_us &&
           move_ask(move, move->from.admin, SQL_KEEP_CLOSED, PARAMS(org)) == ST_OK &&
           move_answered(move->from.admin, 0)[0] != '\0';
}

enum status move_close(struct move *move, const char *org,
                       enum status (*is_ready)(struct move *move))
{
    move_show(move, "waiting for the deliveries under way in cell %s", move->from.name);
    for (int i = 0; i < TRIES; i++) {
        if (!drain(move, org) || !rehearse(move, org, is_ready))
            return ST_REFUSED;
        move->is_held = true;
        if (close_once(move, org))
            return ST_OK;
        /* Opens it, so that the seal catches up with the entries that it has skipped. */
        if (move_ask(move, move->from.admin, SQL_OPEN, PARAMS(org, NULL)) != ST_OK)
            return ST_REFUSED;
        move->is_held = false;
    }
    return move->failure->code != NULL
               ? ST_REFUSED
               : move_failed(move, "timeout", "the organization would be closed for too long");
}
