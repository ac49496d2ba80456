/*
 * migration - one numbered step of a service's schema, embedded at build time from
 * services/SERVICE/migrations/NNNN_title.sql by tools/embed-migrations.
 *
 * Threads  Constant tables.
 */
#ifndef SERVICES_MIGRATE_MIGRATION_H
#define SERVICES_MIGRATE_MIGRATION_H

#include <stddef.h>

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

#endif
