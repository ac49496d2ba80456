/*
 * plan - the migrations, the version table, and the state of each migration.
 *
 * What     A migration is one numbered step of a schema, embedded at build time from
 *          services/SERVICE/migrations/NNNN_title.sql by tools/embed-migrations; those of the schema
 *          `cell`, which all services share, are in common/cell/migrations. The version table,
 *          migration.applied, has a row for each applied migration.
 *
 *          Schemas only move forward: an applied migration must not have changed since, and a new
 *          one must have a greater number than all applied ones of its service. Rows of migrations
 *          that are not in this program are fine: the schema may be ahead of the code.
 * Threads  One thread.
 * Fails    As in db_admin.h. The reason is logged.
 */
#ifndef SERVICES_MIGRATE_PLAN_H
#define SERVICES_MIGRATE_PLAN_H

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

/* -- the version table ------------------------------------------------------------------------- */

/* A row of the version table. */
struct applied {
    const char *service;
    int number;
    const char *checksum;
};

/* Reads its rows; free them with applied_free(). *out is unchanged on failure. */
MUST_CHECK enum status applied_read(struct db_admin *admin, struct applied **out, size_t *n);
void applied_free(struct applied *list, size_t n);

/* -- the state of each migration --------------------------------------------------------------- */

enum plan_state {
    PLAN_APPLIED,
    PLAN_PENDING,
    PLAN_CHANGED, /* applied, but the file's text has changed since */
    PLAN_LATE,    /* not applied, although a later one of its service is */
};

/* Pure: the state of a migration, given the rows of the version table. */
enum plan_state plan_state(const struct migration *migration, const struct applied *applied,
                           size_t n);
const char *plan_state_name(enum plan_state state);

/* Prints one JSON array with the state of each migration; changes nothing. */
MUST_CHECK enum status plan_print(struct db_admin *admin, const struct migration *list, size_t n);

#endif
