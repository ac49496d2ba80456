#include "services/migrate/step.h"

#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"

enum {
    TIMEOUT_US = 60 * 1000 * 1000, /* of one step, all tries together */
    PAUSE_MIN_MS = 50,
    PAUSE_MAX_MS = 2000,
};

/* Running services hold locks, and may take them in another order. */
static bool met_a_lock(const struct db_admin *admin)
{
    const char *sqlstate = db_admin_sqlstate(admin);

    return strcmp(sqlstate, "40P01") == 0 /* deadlock_detected */ ||
           strcmp(sqlstate, "55P03") == 0 /* lock_not_available */;
}

enum status step_failed(const struct db_admin *admin, enum status st, const char *step)
{
    LOG(met_a_lock(admin) ? LOG_INFO : LOG_ERROR, "a step failed in the database",
        log_str("step", step), log_str("sqlstate", db_admin_sqlstate(admin)),
        log_str("error", db_admin_error(admin)));
    return st;
}

enum status step_script(struct db_admin *admin, const char *text, const char *step)
{
    enum status st = db_admin_script(admin, text);

    return st == ST_OK ? ST_OK : step_failed(admin, st, step);
}

enum status step_query(struct db_admin *admin, enum migrate_sql statement,
                       const char *const *params, size_t n)
{
    enum status st = db_admin_query(admin, &migrate_sql[statement], params, n);

    return st == ST_OK ? ST_OK : step_failed(admin, st, migrate_sql[statement].name);
}

enum status step_limit_lock_wait(struct db_admin *admin, const char *wait)
{
    return step_query(admin, SQL_LIMIT_LOCK_WAIT, &wait, 1);
}

struct retry retry_begin(void)
{
    return (struct retry){.start_us = clock_mono_us(), .pause_ms = PAUSE_MIN_MS};
}

bool retry_may(struct retry *retry, const struct db_admin *admin, enum status st)
{
    if (st != ST_INTERNAL || !met_a_lock(admin) || clock_mono_us() - retry->start_us >= TIMEOUT_US)
        return false;
    usleep((useconds_t)retry->pause_ms * 1000);
    retry->pause_ms = 2 * retry->pause_ms < PAUSE_MAX_MS ? 2 * retry->pause_ms : PAUSE_MAX_MS;
    return true;
}
