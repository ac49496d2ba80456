/*
 * step - one step in the database, and whether to try it again.
 *
 * Threads  One thread.
 * Fails    As in db_admin.h. The reason is logged with the name of the step.
 */
#ifndef SERVICES_MIGRATE_STEP_H
#define SERVICES_MIGRATE_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/db/db_admin.h"
#include "migrate_sql.h"

MUST_CHECK enum status step_script(struct db_admin *admin, const char *text, const char *step);
MUST_CHECK enum status step_query(struct db_admin *admin, enum migrate_sql statement,
                                  const char *const *params, size_t n);
/* Logs why a step failed; returns `st`. */
enum status step_failed(const struct db_admin *admin, enum status st, const char *step);
/* How long the steps that follow wait for a lock. */
MUST_CHECK enum status step_limit_lock_wait(struct db_admin *admin, const char *wait);

struct retry {
    int64_t start_us;
    int pause_ms;
};

struct retry retry_begin(void);
/* Whether to retry a step that failed with `st`: only if a lock was the cause, and for a minute.
   Pauses first, longer each time. */
bool retry_may(struct retry *retry, const struct db_admin *admin, enum status st);

#endif
