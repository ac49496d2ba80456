#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/db/once.h"
#include "services/access/access.h"

enum {
    WINDOW_S = 10,
    KEEP_WINDOWS = 6,
    MINUTE_S = 60,
    KEEP_MINUTES = 1,
    KEEP_USAGE_MINUTES = 8 * 24 * 60,
    USAGE_ROWS_MOST = 1000, /* at once: others wait meanwhile */
    PATIENCE_US = 5 * 1000 * 1000,
};

/* *is_done: false when there may be more. */
static enum status clean_usage(struct db *db, struct arena *arena, int64_t minute, bool *is_done)
{
    struct params params = {0};
    enum status st;

    params_add_int(&params, arena, minute - KEEP_USAGE_MINUTES);
    params_add_int(&params, arena, USAGE_ROWS_MOST);
    st = db_once(db, SQL_CLEAN_USAGE, &params, PATIENCE_US);
    *is_done = st != ST_OK || db_rows_affected(db_result(db, 0)) < USAGE_ROWS_MOST;
    return st;
}

static enum status clean(struct db *db, struct arena *arena, bool *is_done)
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
    if (st == ST_OK)
        st = clean_usage(db, arena, now_s / MINUTE_S, is_done);
    return st;
}

void access_upkeep(struct db *db, struct arena *arena, void *service)
{
    struct access *self = service;
    bool is_done = true;
    enum status st;

    if (clock_mono_us() < self->upkeep_due_us || !db_is_up(db))
        return;
    st = clean(db, arena, &is_done);
    self->upkeep_due_us = is_done ? clock_mono_us() + WINDOW_S * 1000000LL : 0;
    if (st != ST_OK)
        LOG(LOG_WARNING, "could not clean up what is over, trying again in ten seconds",
            log_str("status", status_name(st)));
}
