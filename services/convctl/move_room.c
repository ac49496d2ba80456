#include "services/convctl/move_room.h"

#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"

enum { CONNECT_S = 5 };

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

enum status move_failed_standing(struct move *move)
{
    const char *const why =
        move_is_true(move->to.admin, READ_FOLLOWING_IS_FOLLOWED)
            ? arena_printf(move->arena, "a table may be locked; see the log of cell %s's database",
                           move->to.name)
            : arena_printf(move->arena,
                           "no worker of cell %s follows cell %s: none is free "
                           "(max_logical_replication_workers, max_worker_processes), or the "
                           "database cannot connect to the other one; see its log",
                           move->to.name, move->from.name);

    return move_failed(
        move, "timeout",
        arena_printf(move->arena,
                     "all rows are copied, but what has changed since has not arrived for %d "
                     "seconds: %s; repeat the call to resume, or undo the move with --abort",
                     move->give_up_s, why));
}

/* -- the slot ---------------------------------------------------------------------------------- */

static enum status slot_failed(struct move *move, const struct db_admin *sender)
{
    const char *oldest;

    if (strcmp(db_admin_sqlstate(sender), MOVE_LOCK_NOT_AVAILABLE) != 0)
        return move_failed(move, "server_error",
                           arena_printf(move->arena, "create_slot, in the database of cell %s: %s",
                                        move->from.name, db_admin_error(sender)));
    oldest = name_oldest(move, 0);
    return move_failed(move, "timeout",
                       arena_printf(move->arena,
                                    "a replication slot has waited for the transactions that are "
                                    "open in the server of cell %s for more than %d seconds: %s; "
                                    "repeat the call to begin again, or undo the move with "
                                    "--abort",
                                    move->from.name, move->give_up_s,
                                    oldest != NULL ? oldest : "all of them have ended by now"));
}

/* The snapshot is there for as long as the sender does nothing else. */
static enum status create_and_import(struct move *move, const char *command,
                                     struct db_admin *sender)
{
    enum { SNAPSHOT_NAME = 2 }; /* of the columns that the command returns */
    const char *const limit =
        arena_printf(move->arena, "SET lock_timeout = '%ds'", move->give_up_s);

    if (db_admin_script(sender, limit) != ST_OK || db_admin_script(sender, command) != ST_OK)
        return slot_failed(move, sender);
    return move_script(move, move->from.bulk,
                       arena_printf(move->arena,
                                    "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; "
                                    "SET TRANSACTION SNAPSHOT '%s'",
                                    db_admin_value(sender, 0, SNAPSHOT_NAME)));
}

enum status move_create_slot(struct move *move, const char *org)
{
    char error[DB_ADMIN_WHY];
    struct db_admin *sender;
    enum status st;

    if (move_ask(move, move->from.admin, SQL_CREATE_SLOT, PARAMS(org)) != ST_OK)
        return ST_REFUSED;
    if (db_admin_open_sender(move->from_url, "convctl cell move", CONNECT_S, &sender, error) !=
        ST_OK)
        return move_failed(
            move, "service_unavailable",
            arena_printf(move->arena, "the database of cell %s: %s", move->from.name, error));
    st = create_and_import(move, move_answered(move->from.admin, 0), sender);
    db_admin_free(sender);
    return st;
}
