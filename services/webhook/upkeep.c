#include "common/base/clock.h"
#include "common/base/log.h"
#include "services/webhook/webhook.h"

enum { EVERY_S = 3600, AGAIN_S = 60, PATIENCE_S = 10 };
enum column { MADE, DROPPED, STRAY };

static enum status keep_partitions(struct db *db, struct webhook *self)
{
    const struct db_rows *rows;
    enum status st;
    size_t i, expired;

    db_open_batch(db, clock_us() + PATIENCE_S * 1000000LL);
    i = db_add(db, SQL_KEEP_PARTITIONS, NULL, 0);
    db_add(db, SQL_LOCK_QUEUE, NULL, 0);
    expired = db_add(db, SQL_EXPIRE_QUEUE, NULL, 0);
    st = db_run(db);
    if (st != ST_OK)
        return st;
    rows = db_result(db, i);
    if (db_value_int(rows, 0, MADE) > 0 || db_value_int(rows, 0, DROPPED) > 0)
        LOG(LOG_INFO, "kept the log's partitions", log_int("made", db_value_int(rows, 0, MADE)),
            log_int("dropped", db_value_int(rows, 0, DROPPED)));
    if (db_value_int(db_result(db, expired), 0, 0) > 0)
        LOG(LOG_WARNING, "deliveries had waited for 30 days and were skipped",
            log_int("skipped", db_value_int(db_result(db, expired), 0, 0)));
    metric_set(self->stray, db_value_int(rows, 0, STRAY));
    return db_commit(db);
}

void webhook_upkeep(struct db *db, struct arena *arena, void *service)
{
    struct webhook *self = service;
    enum status st;

    if (clock_mono_us() < self->upkeep_due_us || !db_is_up(db))
        return;
    st = keep_partitions(db, self);
    self->upkeep_due_us = clock_mono_us() + (st == ST_OK ? EVERY_S : AGAIN_S) * 1000000LL;
    if (st != ST_OK)
        LOG(LOG_WARNING, "could not keep the log's partitions, trying again in a minute",
            log_str("status", status_name(st)));
}
