/*
 * gateway - one event loop: its listeners, its bus connection, and what it remembers.
 *
 * What     Everything inside happens on one thread and never blocks. What nats.c tells on threads
 *          of its own (notices, the state of the link) is handed to the loop's queue.
 * Owns     gateway_start() opens the listeners and the bus on a thread of its own, which runs until
 *          gateway_stop() and takes them down. The struct itself is never freed: it lives as long
 *          as the process.
 * Threads  gateway_start() and gateway_join() on the main thread, gateway_stop() and
 *          gateway_is_ready() on any, all else on the gateway's own.
 */
#ifndef GATEWAY_GATEWAY_H
#define GATEWAY_GATEWAY_H

#include <h2o.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "common/edge/calls.h"
#include "common/edge/client.h"
#include "common/edge/linger.h"
#include "common/edge/listener.h"
#include "services/gateway/allowance.h"
#include "services/gateway/key_cache.h"
#include "services/gateway/settings.h"
#include "services/gateway/throttle.h"

#define EXCHANGES_MOST 8192

/* What all loops share; constant after the start. */
struct common {
    struct settings settings;
    struct networks trusted;
    SSL_CTX *tls; /* NULL: no TLS listener */
    h2o_globalconf_t http;
    bool logs_all; /* a line for every answer, not for failures alone */
};

struct gateway {
    const struct common *common;
    pthread_t thread;
    sem_t opened; /* posted once is_open tells how opening ended */
    bool is_open;
    h2o_context_t context; /* h2o's: how a request finds its gateway */
    struct listener plain, secure;
    struct clients clients;
    struct lingerers lingerers;

    struct bus *bus;
    h2o_socket_t *bus_socket;  /* a duplicate of the bus's, while that is up */
    h2o_socket_t *bus_changed; /* likewise */
    h2o_multithread_receiver_t inbox;
    struct pulse pulse;
    h2o_timeout_t pulse_timeout;
    h2o_timeout_entry_t pulse_timer;
    atomic_bool ready;

    struct calls calls;
    struct key_cache *keys;
    struct throttle *throttle;
    struct allowance allowance;
    int64_t withheld_told_us; /* monotonic: latest line in the log about withheld look-ups */
    h2o_timeout_t usage_timeout, send_timeout;
    h2o_timeout_entry_t usage_timer;

    size_t exchanges; /* requests that are not done with */
    bool stopping;
};

/* Returns when it listens. NULL: a port cannot be bound, or the bus's settings are unusable
   (logged); the process is to end then. */
struct gateway *gateway_start(const struct common *common);
void gateway_stop(struct gateway *gateway);           /* asks it to */
void gateway_join(struct gateway *gateway);           /* returns when it has stopped */
bool gateway_is_ready(const struct gateway *gateway); /* the bus is up and answers */
void gateway_note_bus(struct gateway *gateway); /* its own: readiness after a change of the bus */

#endif
