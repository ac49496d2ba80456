#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/db/once.h"
#include "services/access/access.h"

enum {
    WINDOW_S = 10,
    KEEP_WINDOWS = 6,
    MINUTE_S = 60,
    KEEP_MINUTES = 1,
    PATIENCE_US = 5 * 1000 * 1000,
};

static enum status clean(struct db *db, struct arena *arena)
{
    int64_t now_s = clock_us() / 1000000;
    struct params windows = {0}, minutes = {0}, none = {0};
    enum status st;

    params_add_int(&windows, arena, now_s / WINDOW_S - KEEP_WINDOWS);
    st = db_once(db, SQL_CLEAN_QUOTA, &windows, PATIENCE_US);
    params_add_int(&minutes, arena, now_s / MINUTE_S - KEEP_MINUTES);
    if (st == ST_OK)
        st = db_once(db, SQL_CLEAN_ATTEMPTS, &minutes, PATIENCE_US);
    if (st == ST_OK)
        st = db_once(db, SQL_CLEAN_SESSIONS, &none, PATIENCE_US);
    return st;
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
        LOG(LOG_WARNING, "could not clean up what is over, trying again in ten seconds",
            log_str("status", status_name(st)));
}
