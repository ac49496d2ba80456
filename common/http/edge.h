/*
 * edge - one event loop between HTTP and the bus: its listeners, its bus connection, its calls.
 *
 * What     Everything inside runs on one thread and never blocks. nats.c reports the state of the
 *          link on its own threads; those reports go through the loop's queue. A program has one or
 *          more loops that share only constants; see edge_program.h. A loop listens from the bus'
 *          first answer on, whatever happens to the bus later.
 * Owns     edge_start() opens the listeners and the bus on a thread of its own, which runs until
 *          edge_stop() and then closes them. The struct itself, the first member of a program's own,
 *          is never freed: it lives as long as the process.
 * Threads  edge_start() and edge_join() on the main thread; edge_stop(), edge_is_ready(),
 *          edge_bus_trouble() and edge_listens() on any; everything else, hooks included, on the
 *          loop's own.
 */
#ifndef COMMON_HTTP_EDGE_H
#define COMMON_HTTP_EDGE_H

#include <h2o.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "common/http/bus_watch.h"
#include "common/http/calls.h"
#include "common/http/edge_clock.h"
#include "common/http/lingering_close.h"
#include "common/http/listener.h"
#include "common/http/send_budget.h"
#include "common/http/timer.h"

/* -- the loop -------------------------------------------------------------------------------- */

struct edge;

/* What a program adds; each may be NULL. */
struct edge_hooks {
    void (*on_open)(struct edge *edge);    /* the bus is connecting, and no request has been made */
    void (*on_link_up)(struct edge *edge); /* what failed before may succeed now */
    /* Often: calls can start, or should not wait for the bus. */
    void (*on_bus_settled)(struct edge *edge);
    void (*on_close)(struct edge *edge); /* all requests have ended, and the bus is still open */
};

/* Constant after the start. */
struct edge_options {
    const char *name; /* on the bus: program and replica */
    const char *nats_url;
    const struct bus_settings *bus_settings;
    const char *inbox_prefix; /* of our user on the bus */
    int64_t command_timeout_ms;
    unsigned bus_timeout_ms; /* without a heartbeat for this long, requests are refused */
    struct connections_options connections;
    size_t calls_max;
    const char *address;
    uint16_t port, tls_port;
    struct tls_certificate *certificate; /* NULL: no second listener */
    bool shared;                         /* other loops listen on these ports, too */
    /* Log every response, not only failures: logs_all for debugging, logs_access as an access log,
       with level info. */
    bool logs_all, logs_access;
    h2o_globalconf_t *http;
    struct edge_hooks hooks;
};

struct edge {
    const struct edge_options *options;
    pthread_t thread;
    sem_t opened; /* posted once is_open has the result of opening */
    bool is_open;
    h2o_context_t context; /* h2o's: how a request finds its loop */
    struct timers timers;
    struct listener plain, secure;
    struct connections connections;
    struct lingering_closes lingering;

    struct bus *bus;
    struct bus_watch bus_watch;
    h2o_multithread_receiver_t inbox;
    struct heartbeat heartbeat;
    struct timer heartbeat_timer;
    bool rests;              /* nothing depends on the heartbeat, which is sent less often */
    uint64_t n_calls_ticked; /* calls.n_started at the latest tick of the timer */
    atomic_bool ready;
    atomic_bool listens;                   /* from the bus's first answer on */
    bool found_port_taken;                 /* when it tried to listen */
    _Atomic(enum bus_trouble) bus_trouble; /* at the last tick */
    struct calls calls;
    struct edge_clock clock;

    struct send_budget send_budget; /* responses that are being sent */
    size_t requests;                /* those that have not ended */
    bool stopping;
};

/* Returns when its ports are bound. False (logged): a port cannot be bound, or the settings of the
   bus are unusable; the process must end then. */
MUST_CHECK bool edge_start(struct edge *edge, const struct edge_options *options);
void edge_stop(struct edge *edge);           /* starts stopping */
void edge_join(struct edge *edge);           /* returns when it has stopped */
bool edge_is_ready(const struct edge *edge); /* it listens, the bus is up and answers */
/* Why the bus is not up, a constant text; NULL: it is up. */
const char *edge_bus_trouble(const struct edge *edge);
bool edge_listens(const struct edge *edge); /* requests are answered, perhaps with 503 */
/* Its clock is too far from those of access and its database, which agree, to set deadlines and times
   for them. */
bool edge_clock_is_skewed(const struct edge *edge);

#endif
