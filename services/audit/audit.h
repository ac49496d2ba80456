/*
 * audit - the service that keeps the audit log: it takes the entries of what ended in the gateway
 * and serves GET /audit and the log of changes.
 *
 * Threads  struct audit is shared by the actors and read-only after start, except for what
 *          audit_upkeep() keeps, which only the first actor's thread touches.
 */
#ifndef SERVICES_AUDIT_AUDIT_H
#define SERVICES_AUDIT_AUDIT_H

#include "common/actor/actor.h"
#include "common/audit_log/audit_log.h"
#include "common/base/metrics.h"
#include "common/crypto/cursor.h"
#include "services/audit/chain.h"

#define RETENTION_MONTHS_MIN 3
#define RETENTION_MONTHS_MAX 1200

struct audit {
    struct cursor_keys keys;
    struct audit_keys signing;
    int64_t retention_months; /* 0 = for ever */

    /* audit_upkeep()'s own. */
    int64_t partitions_due_us, unpartitioned_due_us; /* clock_mono_us() */
    struct metric *unpartitioned;
};

extern const struct command_handler audit_append;
extern const struct command_handler audit_list;
extern const struct command_handler audit_entries;
extern const struct command_handler audit_changes;
extern const struct command_handler audit_verify;
extern const struct command_handler audit_export;
extern const struct command_handler audit_set_retention;

/* One INSERT a batch, for the entries handed in with append and those of the lists themselves. */
extern const struct audit_sink audit_service_sink;

/* Months made ahead, and the default partition watched. */
void audit_upkeep_open(struct audit *audit);
void audit_upkeep(struct db *db, struct arena *arena, void *service);

#endif
