#include "services/convctl/move_copy.h"

#include <stdlib.h>
#include <string.h>

#include "services/convctl/move_room.h"

enum {
    LOOK_MS = 200,
    SEAL_MS = 60000, /* for the new cell to seal all entries that it has now */
    FAILURES_MAX = 2,
    LAG_MAX = 1024 * 1024, /* bytes of write-ahead log */
    /* Of a transaction, while rows are copied or deleted. */
    COPY_ROWS = 20000,
    COPY_US = 500 * 1000,
    DELETE_ROWS = 20000,
    SHOW_ROWS = 1000 * 1000,
};

/* -- before ------------------------------------------------------------------------------------ */

/* What both cells had to say before a copy. */
struct found {
    const char *number, *partitions; /* of the old cell */
    bool is_followed;
    bool
        has_brought; /* rows of the new cell come from a move, and are not a copy that was served */
};

static enum status check(struct move *move, const char *org, struct found *found)
{
    struct db_admin *const from = move->from.admin, *const to = move->to.admin;

    if (move_ask_both(move, from, to, SQL_READ_CELL, PARAMS(org)) != ST_OK)
        return ST_REFUSED;
    *found = (struct found){
        .number = arena_printf(move->arena, "%s", move_answered(from, READ_CELL_NUMBER)),
        .partitions = arena_printf(move->arena, "%s", move_answered(from, READ_CELL_PARTITIONS)),
        .is_followed =
            move_is_true(to, READ_CELL_IS_FOLLOWED) && move_is_true(from, READ_CELL_HAS_SLOT),
        .has_brought = strcmp(move_answered(to, READ_CELL_STATE), "arriving") == 0,
    };
    if (!found->has_brought && move_is_true(to, READ_CELL_HAS_ROWS))
        return move_failed(
            move, "conflict",
            arena_printf(move->arena,
                         "cell %s has rows of the organization that do not come from this move; "
                         "--abort leaves them there (docs/cells.md, Back up)",
                         move->to.name));
    if (strcmp(move_answered(from, READ_CELL_DROPPED), move_answered(to, READ_CELL_DROPPED)) != 0)
        return move_failed(move, "conflict",
                           "the cells have dropped different months of the audit log: give them "
                           "the same retention, and wait until it has run");
    return ST_OK;
}

/* Removes what a copy that was interrupted has left: its snapshot is gone. */
static enum status remove_remains(struct move *move, const char *org, bool has_brought)
{
    if (move_stop_following(move, org) != ST_OK)
        return ST_REFUSED;
    return has_brought ? move_delete_rows(move, &move->to, org) : ST_OK;
}

static enum status prepare(struct move *move, const char *org, const struct found *found)
{
    struct db_admin *const to = move->to.admin;

    if (move_expect_room(move, org) != ST_OK ||
        remove_remains(move, org, found->has_brought) != ST_OK ||
        move_ask_again(move, to, SQL_MAKE_PARTITIONS, PARAMS(found->partitions)) != ST_OK ||
        move_ask_again(move, to, SQL_RAISE_NUMBERS, PARAMS(found->number)) != ST_OK ||
        move_ask(move, to, SQL_SET_MOVING, PARAMS(org, "arriving")) != ST_OK ||
        !move_await(move, to, SQL_IS_SEALED, PARAMS(found->number), "t", SEAL_MS, LOOK_MS))
        return ST_REFUSED;
    return move_ask(move, move->from.admin, SQL_PUBLISH, PARAMS(org));
}

/* -- copying ----------------------------------------------------------------------------------- */

static enum status copy_failed(struct move *move, const struct db_admin *failed, size_t done,
                               size_t tables)
{
    const char *const sqlstate = db_admin_sqlstate(failed);
    const char *const cell = failed == move->from.bulk ? move->from.name : move->to.name;

    if (strcmp(sqlstate, MOVE_QUERY_CANCELED) == 0 ||
        strcmp(sqlstate, MOVE_LOCK_NOT_AVAILABLE) == 0)
        return move_failed(
            move, "timeout",
            arena_printf(move->arena,
                         "the copy has made no progress for %d seconds, with %zu of %zu tables "
                         "copied: in the database of cell %s a table is locked, or its server is "
                         "too slow; repeat the call to begin the copy again, or undo the move with "
                         "--abort",
                         move->give_up_s, done, tables, cell));
    return move_failed(move, "server_error",
                       arena_printf(move->arena, "rows cannot be copied, cell %s: %s", cell,
                                    db_admin_error(failed)));
}

static void show_rows(const struct move *move, const char *table, int64_t before, int64_t rows)
{
    if (rows / SHOW_ROWS > before / SHOW_ROWS)
        move_show(move, "%s: %lld million rows", table, (long long)(rows / SHOW_ROWS));
}

/* Sets *failed if it fails. */
static enum status copy_table(struct move *move, size_t table, struct db_admin **failed)
{
    const struct db_admin *const tables = move->to.admin; /* that LIST_COPIES was asked of */
    const char *const copy_in = db_admin_value(tables, table, LIST_COPIES_COPY_IN);
    int64_t copied = 0;
    size_t rows;
    enum status st;

    *failed = move->from.bulk;
    st = db_admin_copy_begin(*failed, db_admin_value(tables, table, LIST_COPIES_COPY_OUT));
    if (st != ST_OK)
        return st;
    do {
        st = db_admin_copy(move->from.bulk, move->to.bulk, copy_in, COPY_ROWS, COPY_US, &rows,
                           failed);
        show_rows(move, db_admin_value(tables, table, LIST_COPIES_NAME), copied,
                  copied + (int64_t)rows);
        copied += (int64_t)rows;
    } while (st == ST_OK && rows > 0);
    return st;
}

/* In the new cell no trigger runs and no foreign key is checked, as for a subscription. */
static enum status copy_tables(struct move *move, const char *org)
{
    struct db_admin *failed;
    const char *const writes = arena_printf(
        move->arena, "SET statement_timeout = '%ds'; SET session_replication_role = replica",
        move->give_up_s);

    if (move_ask(move, move->to.admin, SQL_LIST_COPIES, PARAMS(org)) != ST_OK ||
        move_script(move, move->to.bulk, writes) != ST_OK)
        return ST_REFUSED;
    for (size_t i = 0, n = db_admin_rows(move->to.admin); i < n; i++) {
        if (copy_table(move, i, &failed) != ST_OK)
            return copy_failed(move, failed, i, n);
        move_show(move, "%zu of %zu tables are copied", i + 1, n);
    }
    return move_script(move, move->to.bulk,
                       "RESET session_replication_role; SET statement_timeout = 0");
}

enum status move_compare(struct move *move, const char *org)
{
    struct db_admin *const from = move->from.bulk, *const to = move->to.bulk;

    move->rows = 0;
    if (move_ask_both(move, from, to, SQL_SUM_ROWS, PARAMS(org)) != ST_OK)
        return ST_REFUSED;
    for (size_t i = 0; i < db_admin_rows(from); i++) {
        const bool is_there = i < db_admin_rows(to);
        const char *const here = db_admin_value(from, i, SUM_ROWS_N), *const there =
                                                                          is_there ? db_admin_value(
                                                                                         to, i,
                                                                                         SUM_ROWS_N)
                                                                                   : "no";

        if (!is_there || strcmp(here, there) != 0 ||
            strcmp(db_admin_value(from, i, SUM_ROWS_SUM), db_admin_value(to, i, SUM_ROWS_SUM)) != 0)
            return move_failed(move, "server_error",
                               arena_printf(move->arena,
                                            "%s differs: %s rows in cell %s, %s in cell %s",
                                            db_admin_value(from, i, SUM_ROWS_NAME), here,
                                            move->from.name, there, move->to.name));
        move->rows += strtoll(here, NULL, 10);
    }
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
                         "seconds with the URL in CELL_DATABASES; repeat the call to begin again",
                         move->to.name, move->from.name, move->give_up_s));
    return ST_REFUSED;
}

enum status move_copy(struct move *move, const char *org)
{
    struct found found;

    if (check(move, org, &found) != ST_OK)
        return ST_REFUSED;
    if (found.is_followed)
        return ST_OK;
    if (prepare(move, org, &found) != ST_OK || move_create_slot(move, org) != ST_OK ||
        copy_tables(move, org) != ST_OK)
        return ST_REFUSED;
    move_show(move, "comparing all rows");
    if (move_compare(move, org) != ST_OK || move_let_go(move, move->from.bulk) != ST_OK)
        return ST_REFUSED;
    return subscribe(move, org);
}

/* -- following --------------------------------------------------------------------------------- */

int64_t move_lag(struct move *move, const char *org, const char *end)
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

/* Counts from the first call on, since PostgreSQL never resets its counters. */
static bool fails_too_often(struct move *move, long long *before)
{
    const long long failures =
        strtoll(move_answered(move->to.admin, READ_FOLLOWING_FAILURES), NULL, 10);

    if (*before < 0)
        *before = failures;
    return failures > *before + FAILURES_MAX;
}

enum status move_await_changes(struct move *move, const char *org)
{
    struct move_progress progress = {.seen = ""};
    long long failures = -1;
    int64_t lag;

    for (;;) {
        lag = move_lag(move, org, NULL);
        if (lag < LAG_MAX)
            return lag < 0 ? ST_REFUSED : ST_OK;
        if (move_ask(move, move->to.admin, SQL_READ_FOLLOWING, PARAMS(org)) != ST_OK)
            return ST_REFUSED;
        if (fails_too_often(move, &failures))
            return move_failed(
                move, "server_error",
                arena_printf(move->arena,
                             "changes cannot be applied: see the log of cell %s's database",
                             move->to.name));
        if (!move_comes_on(move, &progress,
                           arena_printf(move->arena, "%s %s",
                                        move_answered(move->to.admin, READ_FOLLOWING_RECEIVED),
                                        move_answered(move->from.admin, READ_LAG_CONFIRMED))))
            return move_failed_standing(move);
        move_pause(LOOK_MS);
    }
}

/* -- after ------------------------------------------------------------------------------------- */

enum status move_stop_following(struct move *move, const char *org)
{
    if (move_ask(move, move->to.admin, SQL_DISABLE, PARAMS(org)) != ST_OK ||
        move_ask(move, move->to.admin, SQL_UNSUBSCRIBE, PARAMS(org)) != ST_OK)
        return ST_REFUSED;
    return move_ask_again(move, move->from.admin, SQL_UNPUBLISH, PARAMS(org));
}

static enum status delete_from(struct move *move, const struct cell *cell, const char *org,
                               const char *table)
{
    const char *const most = arena_printf(move->arena, "%d", DELETE_ROWS);

    do
        if (move_ask(move, cell->admin, SQL_DELETE_ROWS, PARAMS(org, table, most)) != ST_OK)
            return ST_REFUSED;
    while (strcmp(move_answered(cell->admin, 0), "0") != 0);
    return ST_OK;
}

enum status move_delete_rows(struct move *move, const struct cell *cell, const char *org)
{
    struct db_admin *const tables = cell->bulk;

    if (move_ask(move, tables, SQL_LIST_COPIES, PARAMS(org)) != ST_OK)
        return ST_REFUSED;
    for (size_t i = 0; i < db_admin_rows(tables); i++)
        if (delete_from(move, cell, org, db_admin_value(tables, i, LIST_COPIES_NAME)) != ST_OK)
            return ST_REFUSED;
    return ST_OK;
}
