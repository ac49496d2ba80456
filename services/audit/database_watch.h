/*
 * database_watch - metrics of the whole database server: what keeps vacuum from removing rows, the
 *                  age of transaction numbers, archiving, slots, sizes, and moves that stopped.
 *
 * What     Reads the state every 30 seconds and the sizes every ten minutes. Every replica of audit
 *          reports the same, so that one live replica is enough: aggregate with max, by cell.
 * Threads  The sealer's, which wakes in any case. Nothing is sealed while a statement runs, so none
 *          may take longer than a second.
 * Fails    What fails is logged and read again when it is due next; the metrics keep their values.
 */
#ifndef SERVICES_AUDIT_DATABASE_WATCH_H
#define SERVICES_AUDIT_DATABASE_WATCH_H

#include "common/base/arena.h"
#include "common/db/db.h"

struct database_watch {
    int64_t state_due_us, sizes_due_us; /* clock_mono_us() */
    struct metric *next, *oldest, *snapshot, *unfrozen, *archive_fails, *archive_waiting, *moves;
    struct metric *slots, *size, *largest;
};

/* Registers the metrics. */
void database_watch_open(struct database_watch *watch);
/* Reads what is due. */
void database_watch_step(struct database_watch *watch, struct db *db, struct arena *arena);

#endif
