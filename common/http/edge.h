/*
 * edge - one event loop between HTTP and the bus: its listeners, its bus connection, its calls.
 *
 * What     Everything inside happens on one thread and never blocks. nats.c reports the
 *          state of the link on its own threads; that is handed to the loop's queue. A program has
 *          one or more loops that share only constants; see edge_program.h. It listens once the bus
 *          has answered for the first time, and from then on whatever becomes of the bus.
 * Owns     edge_start() opens the listeners and the bus on a separate thread, which runs until
 *          edge_stop() and takes them down. The struct itself, the first member of a program's own,
 *          is never freed: it lives as long as the process.
 * Threads  edge_start() and edge_join() on the main thread, edge_stop(), edge_is_ready() and
 *          edge_listens() on any, all else, hooks included, on the loop's own.
 */
#ifndef COMMON_HTTP_EDGE_H
#define COMMON_HTTP_EDGE_H

#include <h2o.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "common/http/edge_request.h"
#include "common/http/listener.h"

/* -- the clock ------------------------------------------------------------------------------- */

/* How far the clock of this machine is from that of the services. Deadlines and the times of audit
   entries are made here and checked there. A reply that carries the time says at least how far the
   clocks are apart: it was written between the question and its arrival, so whatever lies outside
   of that is the clocks' fault and not the way's. One service may have a wrong clock itself: of the
   latest three replies the nearest one counts. */

#define CLOCK_CHECK_MS      5000 /* from one request to the next */
#define CLOCK_CHECK_REPLIES 3
#define CLOCK_APART_MS      5000 /* so far apart they must not be */

struct clock_check {
    int64_t apart_ms[CLOCK_CHECK_REPLIES]; /* ours less theirs */
    unsigned n;                            /* replies so far */
};

/* Unix milliseconds: when it was asked and heard by our clock, what the reply says by theirs. */
void clock_check_note(struct clock_check *check, int64_t asked_ms, int64_t heard_ms,
                      int64_t theirs_ms);
/* Positive: our clock is ahead. 0 without any reply. */
int64_t clock_check_apart_ms(const struct clock_check *check);
/* Whole seconds, rounded away from 0. */
int64_t clock_check_apart_s(const struct clock_check *check);
bool clock_check_is_apart(const struct clock_check *check);

/* -- the loop -------------------------------------------------------------------------------- */

struct edge;

/* What a program does besides; each may be NULL. */
struct edge_hooks {
    void (*on_open)(struct edge *edge);    /* the bus is being connected, no request was made yet */
    void (*on_link_up)(struct edge *edge); /* what failed before may succeed now */
    void (*on_bus_settled)(struct edge *edge); /* often: calls can start or had better not wait */
    void (*on_close)(struct edge *edge); /* all requests are done with, the bus is still there */
};

/* Constant after the start. */
struct edge_options {
    const char *name; /* on the bus: program and replica */
    const char *nats_url;
    const struct bus_tls *nats_tls;
    const char *inbox_prefix; /* of our user on the bus */
    int64_t command_timeout_ms;
    unsigned bus_timeout_ms; /* after so long without a heartbeat requests are refused */
    size_t connections_max, calls_max;
    const struct networks *trusted; /* proxies: may have any number of the connections */
    const char *address;
    uint16_t port, tls_port;
    SSL_CTX *tls; /* NULL: no second listener */
    bool shared;  /* other loops listen there too */
    /* A line in the log for each response, not for failures alone: for debugging, or as an access log, in
       which case its level is info */
    bool logs_all, logs_access;
    h2o_globalconf_t *http;
    struct edge_hooks hooks;
};

struct edge {
    const struct edge_options *options;
    pthread_t thread;
    sem_t opened; /* posted once is_open tells how opening ended */
    bool is_open;
    h2o_context_t context; /* h2o's: how a request finds its loop */
    struct listener plain, secure;
    struct connections connections;
    struct lingering_closes lingering;

    struct bus *bus;
    h2o_socket_t *bus_socket;  /* a duplicate of the bus's, while that is up */
    h2o_socket_t *bus_changed; /* likewise */
    h2o_multithread_receiver_t inbox;
    struct heartbeat heartbeat;
    h2o_timeout_t heartbeat_timeout;
    h2o_timeout_entry_t heartbeat_timer;
    atomic_bool ready;
    atomic_bool listens;   /* from the bus's first answer on */
    bool found_port_taken; /* when it was to listen */
    struct clock_check clock_check;
    int64_t clock_asked_ms; /* Unix; 0: no question is under way */
    h2o_timeout_t clock_timeout;
    h2o_timeout_entry_t clock_timer;
    atomic_bool clock_is_apart;
    struct calls calls;

    h2o_timeout_t limit_timeouts[EDGE_REQUEST_LIMITS];
    /* a client that does not read its response for so long is cut off */
    h2o_timeout_t send_timeout;
    struct send_budget send_budget; /* responses that are being sent */
    size_t requests;                /* those that are not done with */
    bool stopping;
};

/* Returns when its ports are its own. False: a port cannot be bound, or the bus's settings are
   unusable (logged); the process is to end then. */
MUST_CHECK bool edge_start(struct edge *edge, const struct edge_options *options);
void edge_stop(struct edge *edge);           /* asks it to */
void edge_join(struct edge *edge);           /* returns when it has stopped */
bool edge_is_ready(const struct edge *edge); /* it listens, the bus is up and answers */
bool edge_listens(const struct edge *edge);  /* requests are answered, be it by 503 */
/* Its clock is too far from the services' to make deadlines and times for them. */
bool edge_clock_is_apart(const struct edge *edge);

#endif
