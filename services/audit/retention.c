#include "services/audit/retention.h"
#include "proto/subject.h"

#include <time.h>

#include "audit_sql.h"
#include "common/base/ascii.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/db/params.h"
#include "common/json/fields.h"
#include "common/json/json.h"
#include "services/audit/audit.h"
#include "services/audit/chain.h"

enum { HOUR_S = 3600, MINUTE_S = 60, TIMEOUT_US = 30 * 1000 * 1000, ROWS_MAX = 1000 };

/* -- a month ---------------------------------------------------------------------------------- */

/* Whether a month may be dropped, by our own clock and calendar. If we signed whatever the database
   calls due, its owner could have anything signed. */
static bool is_due(int64_t until_us, int64_t months)
{
    const time_t until = until_us / 1000000;
    struct tm tm = {0};

    if (gmtime_r(&until, &tm) == NULL || until_us % 1000000 != 0 || tm.tm_mday != 1 ||
        tm.tm_hour != 0 || tm.tm_min != 0 || tm.tm_sec != 0)
        return false;
    tm.tm_mon += (int)months;
    return (int64_t)timegm(&tm) * 1000000 <= clock_us();
}

/* NULL, or why this replica does not drop the month. */
static const char *doubt(const struct note *note, bool knows_last)
{
    if (!is_due(note->until_us, note->months))
        return "the database is about to delete a month that must be kept: no month is deleted";
    if (!knows_last)
        return "the last retention note is signed with an unknown key: this replica deletes "
               "no month; see AUDIT_PUBLIC_KEYS";
    return NULL;
}

/* Reads which month may be dropped, and the notes so far. */
static enum status find(const struct retention_job *job, struct db *db, struct arena *arena,
                        struct note *out, bool *knows_last)
{
    struct params months = {0}, max = {0};
    size_t found, listed, n;
    const struct note *notes;
    enum status st;

    params_add_int(&months, arena, job->months);
    params_add_int(&max, arena, NOTES_MAX);
    db_open_batch(db, clock_us() + TIMEOUT_US);
    found = db_add(db, SQL_FIND_DROPPABLE, &months);
    listed = db_add(db, SQL_LIST_NOTES, &max);
    st = db_run(db);
    if (st != ST_OK ||
        !chain_read_us(db_value(db_result(db, found), 0, FIND_DROPPABLE_UNTIL_US), &out->until_us))
        return st;
    notes = notes_read(db_result(db, listed), arena, &n);
    *knows_last = notes_last(notes, n, out->until_us, job->keys, arena, &out->since_us);
    return ST_OK;
}

static size_t drop(const struct note *note, struct db *db, struct arena *arena)
{
    char *signature = arena_alloc(arena, 2 * SIGNING_SIGNATURE_BYTES + 1);
    struct params params = {0};

    hex_write(note->signature, SIGNING_SIGNATURE_BYTES, signature);
    params_add_int(&params, arena, note->months);
    params_add_int(&params, arena, note->until_us);
    if (note->since_us > 0)
        params_add_int(&params, arena, note->since_us);
    else
        params_add(&params, STR_NONE);
    params_add_int(&params, arena, note->dropped_us);
    params_add(&params, note->dropped_by);
    params_add(&params, note->key_id);
    params_add(&params, str_of(signature));
    return db_add(db, SQL_DROP_MONTH, &params);
}

static enum status drop_month(const struct retention_job *job, struct db *db, struct arena *arena,
                              bool *has_more)
{
    struct note note = {
        .months = job->months, .dropped_us = clock_us(), .dropped_by = str_of(job->name)};
    bool knows_last = true;
    enum status st = find(job, db, arena, &note, &knows_last);
    struct str partition;
    const char *why;
    size_t dropped;

    if (st != ST_OK)
        return st;
    if (note.until_us == 0)
        return db_commit(db);
    why = doubt(&note, knows_last);
    if (why != NULL) {
        db_abandon(db);
        LOG(LOG_ERROR, why);
        return ST_OK;
    }
    note_sign(&note, job->keys, arena);
    dropped = drop(&note, db, arena);
    st = db_commit(db);
    partition = st == ST_OK ? db_value(db_result(db, dropped), 0, DROP_MONTH_PARTITION) : STR_NONE;
    if (partition.p == NULL)
        return st;
    LOG(LOG_WARNING, "deleted a month of the audit log", log_slice("partition", partition));
    *has_more = true;
    return ST_OK;
}

/* -- a step ----------------------------------------------------------------------------------- */

_Static_assert((int)DROP_BLOCKS_DROPPED == (int)DROP_CHANGES_DROPPED,
               "one index serves both statements");

static enum status drop_rows(struct db *db, int statement, struct arena *arena, bool *has_more)
{
    struct params max = {0};
    enum status st;

    params_add_int(&max, arena, ROWS_MAX);
    st = db_once(db, statement, &max, TIMEOUT_US);
    *has_more |= st == ST_OK && db_value_int(db_result(db, 0), 0, DROP_BLOCKS_DROPPED) > 0;
    return st;
}

void retention_job_step(struct retention_job *job, struct db *db, struct arena *arena)
{
    bool has_more = false;
    int64_t again_s = HOUR_S;
    enum status st;

    if (job->months == 0 || clock_mono_us() < job->due_us)
        return;
    st = drop_month(job, db, arena, &has_more);
    if (st == ST_OK)
        st = drop_rows(db, SQL_DROP_BLOCKS, arena, &has_more);
    if (st == ST_OK)
        st = drop_rows(db, SQL_DROP_CHANGES, arena, &has_more);
    if (st != ST_OK) {
        LOG(LOG_WARNING, "could not delete expired entries; retrying in one minute",
            log_str("status", status_name(st)));
        again_s = MINUTE_S;
    } else if (has_more) {
        again_s = 0;
    }
    job->due_us = clock_mono_us() + again_s * 1000000;
}

/* -- audit.retain ----------------------------------------------------------------------------- */

/*
 * audit.retain - sets the minimum number of months that an organization's audit log is kept,
 * whatever the setting.
 *
 * Answer   ok: {"organization_id", "minimum_months"}, the longest minimum ever set; or
 *          parameter_invalid, parameter_not_found
 * Retry    safe: a minimum can only become longer
 */

struct set_retention {
    struct field_int months;
    size_t added; /* index of the statement */
};

static const struct field fields[] = {
    {.name = "months",
     .kind = FIELD_INT,
     .required = true,
     .min = 1,
     .max = RETENTION_MONTHS_MAX,
     .offset = offsetof(struct set_retention, months)},
    FIELDS_END,
};

static void set_retention_query(struct command *command, struct db *db, void *service)
{
    struct set_retention *body = command->input;
    char organization[UUID_TEXT + 1];

    uuid_format(&command->caller.organization_id, organization);
    body->added =
        db_add(db, SQL_ADD_MINIMUM,
               PARAMS(str_of(organization), param_int(command->arena, body->months.value)));
}

static enum status set_retention_reply(struct command *command, struct db *db, void *service)
{
    const struct set_retention *body = command->input;
    const struct db_rows *rows = db_result(db, body->added);
    struct buf *out = &command->reply;

    command->is_no_change = !db_value_bool(rows, 0, ADD_MINIMUM_WAS_SHORTER);
    buf_char(out, '{');
    json_add_text(out, "organization_id", db_value(rows, 0, ADD_MINIMUM_ORGANIZATION_ID));
    json_add_integer(out, "minimum_months", db_value_int(rows, 0, ADD_MINIMUM_MONTHS));
    buf_char(out, '}');
    return ST_OK;
}

const struct command_handler audit_set_retention = {
    .subject = SUBJECT_AUDIT_RETAIN,
    .change = CHANGE_AUDIT_RETAIN,
    .writes = true,
    .needs_organization = true,
    .fields = fields,
    .input_size = sizeof(struct set_retention),
    .query = set_retention_query,
    .reply = set_retention_reply,
};

enum { UPKEEP_TIMEOUT_US = 5 * 1000 * 1000 };

void audit_upkeep_open(struct audit *audit)
{
    audit->unpartitioned = metric_gauge("conversations_audit_entries_without_partition", NULL,
                                        "Entries in the default partition, counted to 1,000");
}

/* When to do it again: soon, if it has failed. */
static int64_t next(enum status st, int64_t after_s, const char *what)
{
    if (st != ST_OK)
        LOG(LOG_WARNING, "maintenance of the audit log failed; retrying in one minute",
            log_str("task", what), log_str("status", status_name(st)));
    return clock_mono_us() + (st == ST_OK ? after_s : MINUTE_S) * 1000000LL;
}

static int64_t keep_partitions(struct db *db)
{
    enum status st = db_once(db, SQL_KEEP_PARTITIONS, NULL, UPKEEP_TIMEOUT_US);
    int64_t made = st == ST_OK ? db_value_int(db_result(db, 0), 0, KEEP_PARTITIONS_MADE) : 0;

    if (made > 0)
        LOG(LOG_INFO, "created partitions of the audit log ahead", log_int("created", made));
    return next(st, HOUR_S, "creating partitions ahead");
}

static int64_t count_unpartitioned(const struct audit *self, struct db *db)
{
    enum status st = db_once(db, SQL_COUNT_UNPARTITIONED, NULL, UPKEEP_TIMEOUT_US);
    int64_t unpartitioned =
        st == ST_OK ? db_value_int(db_result(db, 0), 0, COUNT_UNPARTITIONED_STRAYS) : 0;

    if (st == ST_OK)
        metric_set(self->unpartitioned, unpartitioned);
    if (unpartitioned > 0)
        LOG(LOG_ERROR, "audit entries are in the default partition",
            log_int("entries", unpartitioned));
    return next(st, MINUTE_S, "counting entries in the default partition");
}

void audit_upkeep(struct db *db, struct arena *arena, void *service)
{
    struct audit *self = service;
    int64_t now = clock_mono_us();

    if (!db_is_up(db))
        return;
    if (now >= self->partitions_due_us)
        self->partitions_due_us = keep_partitions(db);
    else if (now >= self->unpartitioned_due_us)
        self->unpartitioned_due_us = count_unpartitioned(self, db);
}
