#include "services/audit/database_watch.h"

#include <stdio.h>

#include "audit_sql.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/db/params.h"

enum {
    STATE_EVERY_S = 30,
    SIZES_EVERY_S = 600,
    TIMEOUT_US = 1000 * 1000, /* nothing is sealed meanwhile */
    LARGEST_MAX = 10,
};

void database_watch_open(struct database_watch *watch)
{
    *watch = (struct database_watch){
        .next = metric_gauge("conversations_database_next_transaction", NULL,
                             "Number of the next transaction"),
        .oldest = metric_gauge("conversations_database_oldest_transaction", NULL,
                               "Rows deleted since this transaction cannot be vacuumed: a session, "
                               "a prepared transaction, a slot or a standby may read them"),
        .snapshot = metric_gauge("conversations_database_oldest_snapshot_seconds", NULL,
                                 "Age of the oldest session or prepared transaction among these"),
        .unfrozen = metric_gauge("conversations_database_unfrozen_transactions", NULL,
                                 "How many transactions old the oldest unfrozen rows are"),
        .archive_fails = metric_gauge("conversations_database_archive_failing", NULL,
                                      "1 if the last attempt to archive a segment failed"),
        .archive_waiting = metric_gauge("conversations_database_archive_waiting_segments", NULL,
                                        "Segments of the write-ahead log that wait to be archived"),
        .slots = metric_gauge_list("conversations_database_slot_retained_bytes",
                                   "Write-ahead log that the server keeps for a replication slot"),
        .size = metric_gauge("conversations_database_size_bytes", NULL,
                             "Size of the database, without the write-ahead log"),
        .largest = metric_gauge_list("conversations_audit_organization_entries",
                                     "Entries in the audit logs of the organizations with most"),
        .moves = metric_gauge("conversations_moves_abandoned", NULL,
                              "Moves of organizations between cells that nobody goes on with"),
    };
}

static enum status read_state(const struct database_watch *watch, struct db *db)
{
    const struct db_rows *rows;
    enum status st = db_once(db, SQL_WATCH_DATABASE, NULL, TIMEOUT_US);

    if (st != ST_OK)
        return st;
    rows = db_result(db, 0);
    metric_set(watch->next, db_value_int(rows, 0, WATCH_DATABASE_NEXT_TRANSACTION));
    metric_set(watch->oldest, db_value_int(rows, 0, WATCH_DATABASE_OLDEST_TRANSACTION));
    metric_set(watch->snapshot, db_value_int(rows, 0, WATCH_DATABASE_SNAPSHOT_SECONDS));
    metric_set(watch->unfrozen, db_value_int(rows, 0, WATCH_DATABASE_UNFROZEN));
    metric_set(watch->archive_fails, db_value_bool(rows, 0, WATCH_DATABASE_ARCHIVE_FAILS));
    metric_set(watch->archive_waiting, db_value_int(rows, 0, WATCH_DATABASE_ARCHIVE_WAITING));
    metric_set(watch->moves, db_value_int(rows, 0, WATCH_DATABASE_MOVES_ABANDONED));
    return ST_OK;
}

/* Rows of a name and a number, which becomes the value of the series of that name. */
static enum status list(struct metric *metric, const char *label, struct db *db, int statement,
                        size_t max, struct arena *arena)
{
    struct metric_series series[METRIC_LISTED_MAX];
    struct params most = {0};
    const struct db_rows *rows;
    size_t n;
    enum status st;

    params_add_int(&most, arena, (int64_t)max);
    st = db_once(db, statement, &most, TIMEOUT_US);
    if (st != ST_OK)
        return st;
    rows = db_result(db, 0);
    n = db_rows_count(rows);
    for (size_t i = 0; i < n && i < max; i++) {
        (void)snprintf(series[i].labels, sizeof(series[i].labels), "%s=\"%.*s\"", label,
                       STR_ARG(db_value(rows, i, LIST_SLOTS_SLOT)));
        series[i].value = db_value_int(rows, i, LIST_SLOTS_BYTES);
    }
    metric_list(metric, series, n < max ? n : max);
    return ST_OK;
}

_Static_assert((int)LIST_LARGEST_ORGANIZATION_ID == (int)LIST_SLOTS_SLOT &&
                   (int)LIST_LARGEST_ENTRIES == (int)LIST_SLOTS_BYTES,
               "list() reads both");

static enum status read_sizes(const struct database_watch *watch, struct db *db,
                              struct arena *arena)
{
    enum status st = db_once(db, SQL_READ_SIZE, NULL, TIMEOUT_US);

    if (st != ST_OK)
        return st;
    metric_set(watch->size, db_value_int(db_result(db, 0), 0, READ_SIZE_BYTES));
    return list(watch->largest, "organization_id", db, SQL_LIST_LARGEST, LARGEST_MAX, arena);
}

/* When it is due next: after a failure no sooner, since what took too long may take so again. */
static int64_t next(enum status st, int64_t every_s, const char *what)
{
    if (st != ST_OK)
        LOG(LOG_WARNING, "could not read metrics of the database; retrying later",
            log_str("task", what), log_str("status", status_name(st)), log_int("in_s", every_s));
    return clock_mono_us() + every_s * INT64_C(1000000);
}

void database_watch_step(struct database_watch *watch, struct db *db, struct arena *arena)
{
    enum status st;

    if (clock_mono_us() >= watch->state_due_us) {
        st = read_state(watch, db);
        if (st == ST_OK)
            st = list(watch->slots, "slot", db, SQL_LIST_SLOTS, METRIC_LISTED_MAX, arena);
        watch->state_due_us = next(st, STATE_EVERY_S, "state");
    }
    if (clock_mono_us() >= watch->sizes_due_us && db_is_up(db))
        watch->sizes_due_us = next(read_sizes(watch, db, arena), SIZES_EVERY_S, "sizes");
}
