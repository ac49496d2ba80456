#include "services/convctl/move_room.h"

#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"

/* -- before ------------------------------------------------------------------------------------ */

static enum status expect_settings(struct move *move, const char *org)
{
    if (move_ask(move, move->from.admin, SQL_READ_CELL, PARAMS(org)) != ST_OK)
        return ST_REFUSED;
    if (strcmp(move_answered(move->from.admin, READ_CELL_WAL_LEVEL), "logical") != 0)
        return move_failed(move, "conflict",
                           arena_printf(move->arena,
                                        "the database of cell %s needs wal_level = logical",
                                        move->from.name));
    if (!move_is_true(move->from.admin, READ_CELL_SEES_SESSIONS))
        return move_failed(
            move, "conflict",
            arena_printf(move->arena,
                         "in the database of cell %s, track_activities must be on, and this "
                         "user needs pg_read_all_stats",
                         move->from.name));
    return ST_OK;
}

/* The rows of LIST_LACKS_FROM or LIST_LACKS_TO: reports the first setting with too little left. */
static enum status expect_no_lack(struct move *move, const struct cell *cell)
{
    _Static_assert(LIST_LACKS_FROM_SETTING == (int)LIST_LACKS_TO_SETTING &&
                       LIST_LACKS_FROM_NEEDED == (int)LIST_LACKS_TO_NEEDED &&
                       LIST_LACKS_FROM_FREE == (int)LIST_LACKS_TO_FREE,
                   "both statements have the same columns");
    const struct db_admin *const on = cell->admin;

    if (db_admin_rows(on) == 0)
        return ST_OK;
    return move_failed(
        move, "conflict",
        arena_printf(move->arena,
                     "in the database of cell %s, %s is too low: a move needs %s, and %s are free",
                     cell->name, db_admin_value(on, 0, LIST_LACKS_FROM_SETTING),
                     db_admin_value(on, 0, LIST_LACKS_FROM_NEEDED),
                     db_admin_value(on, 0, LIST_LACKS_FROM_FREE)));
}

enum status move_expect_room(struct move *move, const char *org)
{
    if (expect_settings(move, org) != ST_OK ||
        move_ask(move, move->from.admin, SQL_LIST_LACKS_FROM, PARAMS(org)) != ST_OK ||
        expect_no_lack(move, &move->from) != ST_OK ||
        move_ask(move, move->to.admin, SQL_LIST_LACKS_TO, NULL, 0) != ST_OK)
        return ST_REFUSED;
    return expect_no_lack(move, &move->to);
}

/* -- while it waits ---------------------------------------------------------------------------- */

bool move_comes_on(struct move *move, struct move_progress *progress, const char *now)
{
    const int64_t now_us = clock_mono_us();

    if (strcmp(progress->seen, now) != 0) {
        snprintf(progress->seen, sizeof(progress->seen), "%s", now);
        progress->since_us = now_us;
    }
    return now_us - progress->since_us < move->give_up_s * INT64_C(1000000);
}

/* NULL: none has been open for that long, or the query failed. */
static const char *name_oldest(struct move *move, int open_for_s)
{
    const char *const least = arena_printf(move->arena, "%d", open_for_s);
    struct db_admin *const on = move->from.admin;

    if (move_ask(move, on, SQL_READ_OLDEST, PARAMS(least)) != ST_OK || db_admin_rows(on) == 0)
        return NULL;
    return arena_printf(move->arena,
                        "a transaction in the server of cell %s has been open for %s seconds: pid "
                        "%s, application_name %s",
                        move->from.name, move_answered(on, READ_OLDEST_AGE_S),
                        move_answered(on, READ_OLDEST_PID), move_answered(on, READ_OLDEST_NAME));
}

static const char *explain(struct move *move, bool is_followed)
{
    const char *const oldest = name_oldest(move, move->give_up_s);

    if (oldest != NULL)
        return oldest;
    if (is_followed)
        return arena_printf(move->arena,
                            "possible causes: max_logical_replication_workers, "
                            "max_worker_processes, max_wal_senders or max_replication_slots is "
                            "used up, or a table is locked; see the logs of both databases");
    return arena_printf(
        move->arena,
        "no worker of cell %s follows cell %s: none is free (max_logical_replication_workers, "
        "max_worker_processes), or the database cannot connect to the other one; see its log",
        move->to.name, move->from.name);
}

enum status move_failed_standing(struct move *move, const char *org)
{
    const char *copied, *tables, *why;
    bool is_followed;

    if (move_ask(move, move->to.admin, SQL_READ_COPYING, PARAMS(org)) != ST_OK)
        return ST_REFUSED;
    copied = arena_printf(move->arena, "%s", move_answered(move->to.admin, READ_COPYING_COPIED));
    tables = arena_printf(move->arena, "%s", move_answered(move->to.admin, READ_COPYING_TABLES));
    is_followed = move_is_true(move->to.admin, READ_COPYING_IS_FOLLOWED);
    why = explain(move, is_followed);
    return move_failed(
        move, "timeout",
        arena_printf(move->arena,
                     "the copy has made no progress for %d seconds, with %s of %s tables copied: "
                     "%s; repeat the call to resume, or undo the move with --abort",
                     move->give_up_s, copied, tables, why));
}

enum status move_create_slot(struct move *move, const char *org)
{
    const char *oldest;

    if (move_ask_within(move, move->from.admin, SQL_CREATE_SLOT, PARAMS(org)) == ST_OK)
        return ST_OK;
    if (strcmp(move->failure->code, "timeout") != 0)
        return ST_REFUSED;
    oldest = name_oldest(move, 0);
    return move_failed(move, "timeout",
                       arena_printf(move->arena,
                                    "a replication slot has waited for the transactions that are "
                                    "open in the server of cell %s for more than %d seconds: %s; "
                                    "repeat the call to resume, or undo the move with --abort",
                                    move->from.name, move->give_up_s,
                                    oldest != NULL ? oldest : "all of them have ended by now"));
}
