/*
 * deployment - the services behind the dashboard: how many replicas of each there are, how many of
 *              them are ready, and how far their background work lags.
 *
 * What     A request for this state waits for one question to all services ($SRV.STATS), unless the
 *          latest answer is still fresh: the bus is asked once in DEPLOYMENT_FRESH_MS, however many
 *          requests there are. A timer takes a few replies at each tick, until every service has
 *          replied and no more replies come, or DEPLOYMENT_ROUND_MS have passed. The state names no
 *          organization and no process, and has no request counts.
 * Owns     All of it, until the process ends. A waiter belongs to its request, which must zero it
 *          before its first use.
 * Threads  The loop's. Functions that take a deployment_state are pure.
 */
#ifndef SERVICES_DASHBOARD_DEPLOYMENT_H
#define SERVICES_DASHBOARD_DEPLOYMENT_H

#include <stdbool.h>

#include "common/base/list.h"
#include "common/base/str.h"
#include "common/base/uuid.h"
#include "common/bus/bus.h"
#include "common/http/timer.h"
#include "proto/subject.h"

/* -- replies --------------------------------------------------------------------------------- */

enum {
    DEPLOYMENT_REPLICAS_MAX = 256,    /* further ones are not counted */
    DEPLOYMENT_REPLY_MAX = 64 * 1024, /* bytes; a longer one is not from our services */
};

struct service_state {
    const char *name;
    unsigned replicas, ready; /* ready: it has its database, so it can run commands */
    bool has_lag;
    int64_t lag_s; /* of the replica that is furthest behind */
};

struct deployment_state {
    struct service_state services[BUS_USER_COUNT];
    size_t n_services;
    struct uuid replicas[DEPLOYMENT_REPLICAS_MAX]; /* that have replied */
    size_t n_replicas;
};

/* Lists every service of proto/subject.def, with no replicas. */
void deployment_state_init(struct deployment_state *state);
/* Reads one reply. Ignores a second reply of a replica and anything that is not a reply of our
   services: others use the same bus and protocol. */
void deployment_state_note(struct deployment_state *state, struct str reply);
/* Every service has replied. */
bool deployment_state_is_complete(const struct deployment_state *state);
/* {as_of, services: [{name, replicas, ready, lag_s}]} for the pages; for free(). */
char *deployment_state_write(const struct deployment_state *state, int64_t as_of_s);

/* -- asking ---------------------------------------------------------------------------------- */

enum {
    DEPLOYMENT_FRESH_MS = 5000,
    DEPLOYMENT_ROUND_MS = 1000,
    DEPLOYMENT_QUIET_MS = 250, /* without a reply, after which no more are expected */
    DEPLOYMENT_TICK_MS = 25,
    DEPLOYMENT_REPLIES_PER_TICK = 16,
};

struct deployment {
    struct timers *timers;
    struct bus *bus;
    char inbox[128];
    struct bus_mailbox *replies;
    struct deployment_state state;
    int64_t as_of_us;           /* clock_us() at the end of the latest round */
    int64_t known_us;           /* the same by clock_mono_us(); 0: the state is unknown */
    int64_t begun_us, heard_us; /* this round's, by clock_mono_us(); begun 0: none */
    struct list waiting;
    struct timer timer;
};

struct deployment_waiter {
    struct list link;
    /* is_known: deployment->state holds the replies of this round. */
    void (*on_end)(struct deployment_waiter *waiter, bool is_known);
};

void deployment_init(struct deployment *deployment, struct timers *timers, struct bus *bus);

enum deployment_answer { DEPLOYMENT_KNOWN, DEPLOYMENT_ASKED, DEPLOYMENT_UNREACHABLE };

/* DEPLOYMENT_KNOWN: deployment->state is fresh. DEPLOYMENT_ASKED: on_end will be called. */
MUST_CHECK enum deployment_answer
deployment_ask(struct deployment *deployment, struct deployment_waiter *waiter,
               void (*on_end)(struct deployment_waiter *waiter, bool is_known));
/* on_end will not be called. False: it was not waiting. */
bool deployment_leave(struct deployment_waiter *waiter);

#endif
