/*
 * upkeep - what an actor does from time to time, between batches.
 *
 * What     Ends the sessions of programs that hang in a transaction, compares our clock with that of
 *          the database, and does what the service does when it is idle.
 * Owns     Nothing.
 * Threads  The actor's.
 * Fails    Never; what failed is done again later.
 */
#ifndef COMMON_ACTOR_UPKEEP_H
#define COMMON_ACTOR_UPKEEP_H

#include "common/actor/actor_metrics.h"
#include "common/actor/discovery.h"
#include "common/base/clock_check.h"
#include "common/db/db.h"

struct upkeep {
    const struct service *service;
    struct actor_metrics *metrics;
    int end_hung_sessions; /* the number of the statement */
    int64_t due_us;        /* when there is more to do, by clock_mono_us(); INT64_MAX: never */
    int64_t hung_due_us;   /* the same for hung sessions */
    struct clock_check clock_check;
};

/* Uses a connection and an arena that no batch uses; the connection must be up. */
void upkeep_do(struct upkeep *upkeep, struct db *db, struct arena *arena,
               struct discovery *discovery, int64_t now_us);

#endif
