#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/db/params.h"
#include "services/access/access.h"

enum {
    WINDOW_S = 10,
    KEEP_WINDOWS = 6,
    MINUTE_S = 60,
    KEEP_MINUTES = 1,
    KEEP_USAGE_MINUTES = 8 * 24 * 60,
    ROWS_MAX = 1000, /* at once: others wait meanwhile */
    TIMEOUT_US = 5 * 1000 * 1000,
};

/* With a bound on its rows as the last parameter. *is_done: false when there may be more. */
static enum status clean_some(struct db *db, struct arena *arena, int statement,
                              struct params *params, bool *is_done)
{
    enum status st;

    params_add_int(params, arena, ROWS_MAX);
    st = db_once(db, statement, params, TIMEOUT_US);
    if (st == ST_OK && db_rows_affected(db_result(db, 0)) >= ROWS_MAX)
        *is_done = false;
    return st;
}

static enum status clean(struct db *db, struct arena *arena, bool *is_done)
{
    int64_t now_s = clock_us() / 1000000;
    struct params windows = {0}, minutes = {0}, sessions = {0}, networks = {0}, usage = {0};
    enum status st;

    params_add_int(&windows, arena, now_s / WINDOW_S - KEEP_WINDOWS);
    st = db_once(db, SQL_CLEAN_QUOTA, &windows, TIMEOUT_US);
    params_add_int(&minutes, arena, now_s / MINUTE_S - KEEP_MINUTES);
    if (st == ST_OK)
        st = db_once(db, SQL_CLEAN_ATTEMPTS, &minutes, TIMEOUT_US);
    if (st == ST_OK)
        st = clean_some(db, arena, SQL_CLEAN_SESSIONS, &sessions, is_done);
    if (st == ST_OK)
        st = clean_some(db, arena, SQL_CLEAN_SIGN_IN_NETWORKS, &networks, is_done);
    params_add_int(&usage, arena, now_s / MINUTE_S - KEEP_USAGE_MINUTES);
    if (st == ST_OK)
        st = clean_some(db, arena, SQL_CLEAN_USAGE, &usage, is_done);
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
        LOG(LOG_WARNING, "could not delete expired rows; retrying in ten seconds",
            log_str("status", status_name(st)));
}
