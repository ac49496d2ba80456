/*
 * apply - migrates a database: its roles, then the schemas by their migrations (plan.h).
 *
 * What     apply_all() holds an advisory lock while it works, so programs that run at the same time
 *          wait for each other. Each migration is one transaction, together with its row in the
 *          version table. One that waits for locks of a running service, or deadlocks with it,
 *          backs off and is retried for a minute. apply_all() prints one JSON line on stdout for
 *          each migration.
 *
 *          Indexes that a migration has created ON ONLY a partitioned table are then built for its
 *          partitions, one by one, the newest first, while others read and write.
 * Threads  One thread.
 * Fails    ST_REFUSED: the files do not match what was applied; nothing was changed. Otherwise as
 *          in db_admin.h. The reason is logged. Migrations applied before a failure stay.
 */
#ifndef SERVICES_MIGRATE_APPLY_H
#define SERVICES_MIGRATE_APPLY_H

#include <stdbool.h>
#include <stddef.h>

#include "common/db/db_admin.h"
#include "services/migrate/plan.h"

/* The role conv_NAME of a service, and its password ("" = not given). */
struct database_role {
    const char *name;
    const char *password;
};

struct apply_options {
    const struct migration *migrations;
    size_t n_migrations;
    const struct database_role *roles;
    size_t n_roles;
    int lock_wait_s;    /* how long to wait for another program that migrates */
    bool has_audit_log; /* if so, continues its numbers: audit.continue_numbers() */
};

MUST_CHECK enum status apply_all(struct db_admin *admin, const struct apply_options *options);

#endif
