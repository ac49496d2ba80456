#include <inttypes.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "services/access/access.h"

enum { WINDOW_S = 10, KEEP_WINDOWS = 6, PATIENCE_S = 5 };

static enum status clean(struct db *db, struct arena *arena)
{
    int64_t oldest = clock_us() / 1000000 / WINDOW_S - KEEP_WINDOWS;
    db_param param = str_of(arena_printf(arena, "%" PRId64, oldest));
    enum status st;

    db_open_batch(db, clock_us() + PATIENCE_S * 1000000LL);
    db_add(db, SQL_CLEAN_QUOTA, &param, 1);
    st = db_run(db);
    return st == ST_OK ? db_commit(db) : st;
}

void access_upkeep(struct db *db, struct arena *arena, void *service)
{
    struct access *self = service;
    enum status st;

    if (clock_mono_us() < self->upkeep_due_us || !db_is_up(db))
        return;
    self->upkeep_due_us = clock_mono_us() + WINDOW_S * 1000000LL;
    st = clean(db, arena);
    if (st != ST_OK)
        LOG(LOG_WARNING, "could not clean up old windows, trying again in ten seconds",
            log_str("status", status_name(st)));
}
