#include "common/base/clock.h"
#include "common/base/log.h"
#include "services/webhook/webhook.h"

enum { EVERY_S = 3600, AGAIN_S = 60, PATIENCE_S = 10, STEP = 2000 };
enum column { MADE, DROPPED, STRAY };

static void note_partitions(const struct webhook *self, const struct db_rows *rows)
{
    if (db_value_int(rows, 0, MADE) > 0 || db_value_int(rows, 0, DROPPED) > 0)
        LOG(LOG_INFO, "kept the log's partitions", log_int("made", db_value_int(rows, 0, MADE)),
            log_int("dropped", db_value_int(rows, 0, DROPPED)));
    metric_set(self->stray, db_value_int(rows, 0, STRAY));
}

/* Deletes a step of each kind only: others wait for the queue meanwhile. */
static enum status tidy(struct db *db, struct arena *arena, const struct webhook *self,
                        bool *has_more)
{
    size_t partitions, events, statistics, queue;
    struct params step = {0};
    int64_t expired;
    enum status st;

    params_add_int(&step, arena, STEP);
    db_open_batch(db, clock_us() + PATIENCE_S * 1000000LL);
    partitions = db_add(db, SQL_KEEP_PARTITIONS, NULL, 0);
    events = db_add(db, SQL_DROP_EVENTS, step.at, step.n);
    statistics = db_add(db, SQL_DROP_STATISTICS, step.at, step.n);
    db_add(db, SQL_LOCK_QUEUE, NULL, 0);
    queue = db_add(db, SQL_EXPIRE_QUEUE, step.at, step.n);
    st = db_commit(db);
    if (st != ST_OK)
        return st;
    note_partitions(self, db_result(db, partitions));
    expired = db_value_int(db_result(db, queue), 0, 0);
    if (expired > 0)
        LOG(LOG_WARNING, "deliveries had waited for 30 days and were skipped",
            log_int("skipped", expired));
    *has_more = expired == STEP || db_value_int(db_result(db, events), 0, 0) == STEP ||
                db_value_int(db_result(db, statistics), 0, 0) == STEP;
    return ST_OK;
}

void webhook_upkeep(struct db *db, struct arena *arena, void *service)
{
    struct webhook *self = service;
    bool has_more = false;
    enum status st;

    webhook_survey(db, self);
    webhook_reseal(db, arena, self);
    if (clock_mono_us() < self->upkeep_due_us || !db_is_up(db))
        return;
    st = tidy(db, arena, self, &has_more);
    self->upkeep_due_us = clock_mono_us() + (st == ST_OK ? EVERY_S : AGAIN_S) * 1000000LL;
    if (has_more)
        self->upkeep_due_us = 0;
    if (st != ST_OK)
        LOG(LOG_WARNING, "could not tidy the log and the queue, trying again in a minute",
            log_str("status", status_name(st)));
}
