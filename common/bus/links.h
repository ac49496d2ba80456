/*
 * links - which link a bus uses, and its moves from one to another. Private to common/bus.
 *
 * What     A lost link is closed, and another dialed and adopted in the owner's next step.
 *
 *          nats-server announces that it will close its connections ("lame duck mode"), and accepts no
 *          more. While the bus dials another server, the present link stays in use; if there is no
 *          other server, it does until it is lost. The new link is then the one in use, for
 *          subscriptions and requests. The link that was left stays open for a while:
 *
 *          - its subscriptions, until the other servers have learned of the new ones. In that time a
 *            member of a group still gets each message once; other listeners may get a message twice.
 *          - for replies to requests that were sent over it.
 *
 *          Until then, replies to requests that came over it leave over it, too. Then it is closed, on
 *          a thread of its own, since that may take a while. Later replies leave over the new link;
 *          to a plain message the new server permits none.
 * Threads  The owner's, except for the atomics. The links' events come on threads of nats.c.
 */
#ifndef COMMON_BUS_LINKS_H
#define COMMON_BUS_LINKS_H

#include "common/bus/dialer.h"
#include "common/bus/requests.h"
#include "common/bus/subscriptions.h"

struct bus_move {
    struct bus_link *left; /* NULL: none */
    int socket;            /* of `left`, while it is watched; -1: it is not */
    uint32_t events;       /* that are watched */
    int64_t drain_us, end_us;
    bool draining, closing;
    pthread_t closer;
};

struct bus_links {
    const struct bus_options *options;
    struct bus_subscriptions *subscriptions;
    struct bus_requests *requests;
    struct bus_link at[BUS_LINKS];
    /* With its subscriptions; NULL until the first one is made. Only the owner sets it. */
    _Atomic(struct bus_link *) in_use;
    struct bus_dialer dialer;
    struct bus_move move;
    bool is_ending;
    int wake_fd;
    int changed_fd;        /* readable when wake_fd or the socket of the link that was left is */
    atomic_uint n_changes; /* of the socket in use */
    pthread_mutex_t lock;  /* keeps on_link() calls in order */
    atomic_bool told_up;
    atomic_uint_least64_t denials, denied_publishes;
};

void links_init(struct bus_links *links, const struct bus_options *options,
                struct bus_subscriptions *subscriptions, struct bus_requests *requests);
void links_dial(struct bus_links *links); /* for the first time */
/* Ends what goes on beside: no link is dialed or left any more. */
void links_end(struct bus_links *links);
void links_close(struct bus_links *links); /* after what they have to write */
void links_release(struct bus_links *links);

/* In each step: closes a lost link, dials another, adopts it, closes one that was left. */
void links_step(struct bus_links *links);
/* Moves to a link that is dialed. */
void links_move(struct bus_links *links);
void links_read(struct bus_links *links);      /* the one in use */
void links_read_left(struct bus_links *links); /* the one that was left */
/* Writes what the sockets take now. */
void links_push(struct bus_links *links);
/* True: the link in use holds nothing that waits for its socket. */
bool links_are_flushed(struct bus_links *links);
int links_wait_ms(const struct bus_links *links, int timeout_ms); /* less if a move needs steps */

void links_metrics_open(void);

#endif
