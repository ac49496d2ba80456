#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/db/once.h"
#include "services/access/access.h"

enum { WINDOW_S = 10, KEEP_WINDOWS = 6, PATIENCE_US = 5 * 1000 * 1000 };

static enum status clean(struct db *db, struct arena *arena)
{
    struct params params = {0};

    params_add_int(&params, arena, clock_us() / 1000000 / WINDOW_S - KEEP_WINDOWS);
    return db_once(db, SQL_CLEAN_QUOTA, &params, PATIENCE_US);
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
