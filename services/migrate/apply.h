/*
 * apply - migrates a database's schema: the migrations, the state of each, and applying them.
 *
 * What     A migration is one numbered step of a schema, embedded at build time from
 *          services/SERVICE/migrations/NNNN_title.sql by tools/embed-migrations; those of the schema
 *          `cell`, which all services share, are in common/cell/migrations. The version table,
 *          migration.applied, has a row for each applied migration.
 *
 *          Schemas only move forward: an applied migration must not have changed since, and a new
 *          one must have a greater number than all applied ones of its service. Rows of migrations
 *          that are not in this program are fine: the schema may be ahead of the code.
 *
 *          apply_all() holds an advisory lock while it works, so programs that run at the same time
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

/* -- migrations -------------------------------------------------------------------------------- */

struct migration {
    const char *service;
    int number;
    const char *title;
    const char *checksum; /* SHA-256 of the file, in hex */
    const char *text;
};

/* In the order in which they are applied. */
extern const struct migration migrations[];
extern const size_t migrations_count;

/* -- the plan ---------------------------------------------------------------------------------- */

enum plan_state {
    PLAN_APPLIED,
    PLAN_PENDING,
    PLAN_CHANGED, /* applied, but the file's text has changed since */
    PLAN_LATE,    /* not applied, although a later one of its service is */
};

/* A row of the version table. */
struct applied {
    const char *service;
    int number;
    const char *checksum;
};

/* Pure: the state of a migration, given the rows of the version table. */
enum plan_state plan_state(const struct migration *migration, const struct applied *applied,
                           size_t n);
const char *plan_state_name(enum plan_state state);

/* -- applying ---------------------------------------------------------------------------------- */

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
/* Prints one JSON array with the state of each migration; changes nothing. */
MUST_CHECK enum status apply_status(struct db_admin *admin, const struct migration *list, size_t n);

#endif
