/*
 * database - an actor's connections to the database, one for each of its batches.
 *
 * What     Each has prepared the statements of the service and of its audit sink, and the actor's
 *          own. One connection that is up is enough to work with.
 * Owns     Close it with database_close(), also if it did not open. The service outlives it.
 * Threads  The actor's; only `trouble` is for any.
 * Fails    database_open() (logged): the URL cannot be used.
 */
#ifndef COMMON_ACTOR_DATABASE_H
#define COMMON_ACTOR_DATABASE_H

#include <stdatomic.h>

#include "common/actor/handler.h"
#include "common/db/db.h"

/* How long a statement waits for a lock: normally, and for a while after a wait has timed out. */
enum { LOCK_TIMEOUT_MS = 300, LOCK_TIMEOUT_SHORT_MS = 20 };

struct database {
    struct db *connections[BATCHES_MAX];
    size_t n;
    struct db_statement *statements;
    int limit_lock_waits, end_hung_sessions; /* their numbers in `statements` */
    int list_closed;                         /* its number; -1 if no entries are written */
    struct audit_statements audit;
    int64_t lost_us;               /* when the last connection was lost, by clock_mono_us() */
    _Atomic(const char *) trouble; /* why none was up at the end of the last step; NULL: one was */
};

/* `options` have the URL, the name, and what to do while a batch waits. */
bool database_open(struct database *database, size_t n, const struct service *service,
                   const struct db_options *options);
void database_close(struct database *database);
/* One step: makes connections that are down, except for those that a batch still uses; takes 50 ms
   at most. Returns why none is up; NULL: one is. */
const char *database_connect(struct database *database, const bool *are_used);
bool database_is_up(const struct database *database); /* one of them */
bool database_is_whole(const struct database *database);
/* It has been down for so long that commands need not wait for it. */
bool database_is_away(const struct database *database);

#endif
