/*
 * plan - what a migration's state is, given what the database says was applied.
 *
 * What     Pure. Schemas only move forward: what was applied must not have changed since, and what
 *          is new must come behind everything applied of the same service. Rows of migrations that
 *          this program does not know are fine: the schema may be ahead of the code.
 * Threads  Any.
 */
#ifndef SERVICES_MIGRATE_PLAN_H
#define SERVICES_MIGRATE_PLAN_H

#include "services/migrate/migration.h"

enum plan_state {
    PLAN_APPLIED,
    PLAN_PENDING,
    PLAN_CHANGED, /* applied, but the file's text is another one today */
    PLAN_LATE,    /* not applied, although a later one of its service is */
};

/* A row of migration.applied. */
struct applied {
    const char *service;
    int number;
    const char *checksum;
};

enum plan_state plan_state(const struct migration *migration, const struct applied *applied,
                           size_t n);
const char *plan_state_name(enum plan_state state);

#endif
