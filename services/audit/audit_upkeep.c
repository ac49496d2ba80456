#include "audit_sql.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/db/once.h"
#include "services/audit/audit.h"

enum { HOUR_S = 3600, MINUTE_S = 60, TIMEOUT_US = 5 * 1000 * 1000 };

static const struct params nothing;

void audit_upkeep_open(struct audit *audit)
{
    audit->unpartitioned = metric_gauge("conversations_audit_stray_entries", NULL,
                                        "Entries in the default partition, counted to 1,000");
}

/* When to do it again: soon, where it has failed. */
static int64_t next(enum status st, int64_t after_s, const char *what)
{
    if (st != ST_OK)
        LOG(LOG_WARNING, "maintenance of the audit log failed; retrying in one minute",
            log_str("what", what), log_str("status", status_name(st)));
    return clock_mono_us() + (st == ST_OK ? after_s : MINUTE_S) * 1000000LL;
}

static int64_t keep_partitions(struct db *db)
{
    enum status st = db_once(db, SQL_KEEP_PARTITIONS, &nothing, TIMEOUT_US);
    int64_t made = st == ST_OK ? db_value_int(db_result(db, 0), 0, 0) : 0;

    if (made > 0)
        LOG(LOG_INFO, "created partitions of the audit log ahead", log_int("made", made));
    return next(st, HOUR_S, "months made ahead");
}

static int64_t count_unpartitioned(const struct audit *self, struct db *db)
{
    enum status st = db_once(db, SQL_COUNT_UNPARTITIONED, &nothing, TIMEOUT_US);
    int64_t unpartitioned = st == ST_OK ? db_value_int(db_result(db, 0), 0, 0) : 0;

    if (st == ST_OK)
        metric_set(self->unpartitioned, unpartitioned);
    if (unpartitioned > 0)
        LOG(LOG_ERROR, "audit entries are in the default partition",
            log_int("entries", unpartitioned));
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
    else if (now >= self->unpartitioned_due_us)
        self->unpartitioned_due_us = count_unpartitioned(self, db);
}
