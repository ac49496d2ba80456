#include "audit_sql.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "services/audit/audit.h"

enum { EVERY_S = 3600, AGAIN_S = 60, PATIENCE_S = 5 };

static enum status keep_partitions(struct db *db, int64_t *made)
{
    enum status st;
    size_t i;

    db_open_batch(db, clock_us() + PATIENCE_S * 1000000LL);
    i = db_add(db, SQL_KEEP_PARTITIONS, NULL, 0);
    st = db_run(db);
    if (st != ST_OK)
        return st;
    *made = db_value_int(db_result(db, i), 0, 0);
    return db_commit(db);
}

void audit_upkeep(struct db *db, struct arena *arena, void *service)
{
    struct audit *self = service;
    int64_t made = 0;
    enum status st;

    if (clock_mono_us() < self->upkeep_due_us || !db_is_up(db))
        return;
    st = keep_partitions(db, &made);
    self->upkeep_due_us = clock_mono_us() + (st == ST_OK ? EVERY_S : AGAIN_S) * 1000000LL;
    if (st != ST_OK)
        LOG(LOG_WARNING, "could not make the trail's partitions ahead, trying again in a minute",
            log_str("status", status_name(st)));
    else if (made > 0)
        LOG(LOG_INFO, "made partitions of the trail ahead", log_int("made", made));
}
