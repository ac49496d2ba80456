/*
 * dialer - makes a connection, on a thread of its own: the first one, one after a loss, and one to
 *          move to. Private to common/bus.
 *
 * What     Each round reads NATS_URL again and looks up its hosts (bus_hosts.h). Each attempt has
 *          options of its own and reads the certificates again, so that what was renewed in the files
 *          takes effect with the next connection. nats.c gets addresses only: it would give a single
 *          attempt's time to all addresses of a name.
 * Owns     The thread, which ends when it has made a connection.
 * Threads  The owner's; `trouble` any.
 * Fails    Never: it tries for ever, and tells the log and `trouble` why.
 */
#ifndef COMMON_BUS_DIALER_H
#define COMMON_BUS_DIALER_H

#include "common/bus/link.h"
#include "common/bus/options.h"

struct bus_dialer {
    const struct bus_options *options;
    const atomic_bool *is_up; /* another link is in use, so nothing is wrong yet */
    int wake_fd, stop_fd;
    pthread_t thread;
    bool is_running;
    struct bus_link *to;
    char last_where[BUS_WHERE];        /* where the last connection led; empty: nowhere */
    int64_t dialed_us;                 /* when that was; 0: never */
    _Atomic(struct bus_link *) dialed; /* for the owner to take */
    _Atomic(enum bus_trouble) trouble; /* of the last round */
};

/* `wake_fd` is written to when a connection is made, or `trouble` is another. */
void dialer_init(struct bus_dialer *dialer, const struct bus_options *options, int wake_fd,
                 const atomic_bool *is_up);
void dialer_stop(struct bus_dialer *dialer); /* waits for its thread */
void dialer_start(struct bus_dialer *dialer, struct bus_link *to);
/* The link with which a connection has been made; NULL: none yet. */
struct bus_link *dialer_take(struct bus_dialer *dialer);

#endif
