#include "audit_sql.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "services/audit/audit.h"

enum { HOUR_S = 3600, MINUTE_S = 60, PATIENCE_S = 5 };

void audit_upkeep_open(struct audit *audit)
{
    audit->strays = metric_gauge("conversations_audit_stray_entries", NULL,
                                 "Entries in the default partition, counted to 1,000");
}

/* The statement's one value, which lives until the next batch. */
static enum status run(struct db *db, int statement, struct str *value)
{
    enum status st;
    size_t i;

    db_open_batch(db, clock_us() + PATIENCE_S * 1000000LL);
    i = db_add(db, statement, NULL, 0);
    st = db_run(db);
    if (st != ST_OK)
        return st;
    *value = db_value(db_result(db, i), 0, 0);
    return db_commit(db);
}

/* When to do it again: soon, where it has failed. */
static int64_t next(enum status st, int64_t after_s, const char *what)
{
    if (st != ST_OK)
        LOG(LOG_WARNING, "upkeep of the trail failed, trying again in a minute",
            log_str("what", what), log_str("status", status_name(st)));
    return clock_mono_us() + (st == ST_OK ? after_s : MINUTE_S) * 1000000LL;
}

static int64_t keep_partitions(struct db *db)
{
    struct str made;
    enum status st = run(db, SQL_KEEP_PARTITIONS, &made);

    if (st == ST_OK && !str_equal(made, STR("0")))
        LOG(LOG_INFO, "made months of the trail ahead", log_slice("made", made));
    return next(st, HOUR_S, "months made ahead");
}

static int64_t count_strays(const struct audit *self, struct db *db)
{
    struct str strays;
    enum status st = run(db, SQL_COUNT_STRAYS, &strays);
    uint64_t n = 0;

    if (st == ST_OK && str_to_u64(strays, INT64_MAX, &n))
        metric_set(self->strays, (int64_t)n);
    if (n > 0)
        LOG(LOG_ERROR, "entries of the trail lie in the default partition",
            log_int("entries", (int64_t)n));
    return next(st, MINUTE_S, "default partition");
}

void audit_upkeep(struct db *db, struct arena *arena, void *service)
{
    struct audit *self = service;
    int64_t now = clock_mono_us();

    if (!db_is_up(db))
        return;
    if (now >= self->partitions_due_us)
        self->partitions_due_us = keep_partitions(db);
    else if (now >= self->strays_due_us)
        self->strays_due_us = count_strays(self, db);
}
