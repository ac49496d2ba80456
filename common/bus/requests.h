/*
 * requests - requests, and the replies to them. Private to common/bus.
 *
 * What     The requests of one step to a subject are collected in the subject's bundle, which is sent
 *          at the end of the step, or earlier when it is full. Each bundle takes a slot: a
 *          subscription to a reply subject of its own, drained by the owner, as nats.c delivers the
 *          server's "no responders" without its subject, and a subscription with a callback would
 *          deliver every reply on another thread (decision 1). The slot is free again when each item
 *          has had its reply, or when the server reports that no mailbox takes the bundle. A slot
 *          without replies is closed when the caller no longer awaits any.
 * Owns     The slots. A reply is passed to `on_reply`.
 * Threads  The owner's.
 */
#ifndef COMMON_BUS_REQUESTS_H
#define COMMON_BUS_REQUESTS_H

#include "common/base/list.h"
#include "common/bus/bundle.h"
#include "common/bus/bus_message.h"
#include "common/bus/link.h"

/* Where the replies to a bundle arrive. */
struct bus_slot {
    struct bus_route *route;
    struct bus_slot *next; /* in the list of free ones */
    natsSubscription *nats;
    const struct bus_link *on;
    char *reply_to;
    unsigned n_awaited; /* requests without a reply so far */
    uint64_t handles[BUNDLE_ITEMS_MAX];
};

/* The requests to a subject. */
struct bus_route {
    struct bus_route *next;
    struct list link; /* among those with requests to send */
    char *subject;
    struct bus_slot *free;        /* of the link in use */
    struct bundle_writer waiting; /* to be sent at the end of the step */
    uint64_t handles[BUNDLE_ITEMS_MAX];
};

struct bus_requests {
    int wake_fd;
    const struct bus_link *link; /* in use; NULL: none */
    char *prefix;                /* of all reply subjects: PREFIX.ID; NULL: no inbox yet */
    bus_reply_fn on_reply;
    bus_awaited_fn is_awaited;
    void *closure;
    uint64_t n_opened;
    struct bus_route *routes; /* the one that was used last comes first */
    struct list waiting;      /* those with requests to send, or with none any more */
    struct bus_slot **open;   /* those still waiting for replies */
    size_t n_open, capacity;
    struct bundle_writer unsent; /* only the handles */
    int64_t sweep_due_us;
};

/* `wake_fd`: see requests_deliver_unsent(). */
void requests_init(struct bus_requests *requests, int wake_fd);
void requests_open(struct bus_requests *requests, const char *inbox_prefix, bus_reply_fn on_reply,
                   bus_awaited_fn is_awaited, void *closure);
void requests_release(struct bus_requests *requests); /* no link may be in use */

/* As bus_request() and bus_send_heartbeat(). */
enum status requests_add(struct bus_requests *requests, const char *subject, uint64_t handle,
                         const struct bus_header *headers, size_t n_headers, struct str body);
enum status requests_heartbeat(struct bus_requests *requests, uint64_t handle);
void requests_send(struct bus_requests *requests); /* at the end of a step */

/* The replies that nats.c has read. */
void requests_deliver(struct bus_requests *requests);
/* BUS_NO_RESPONDERS for requests that could not be sent; wake_fd is written to when there are any. */
void requests_deliver_unsent(struct bus_requests *requests);
void requests_sweep(struct bus_requests *requests); /* closes slots of requests given up */

/* The link is in use from now on; slots that wait for replies stay on the one before. */
void requests_attach(struct bus_requests *requests, const struct bus_link *link);
/* Replies to requests that were sent over it are still to come. */
bool requests_await(const struct bus_requests *requests, const struct bus_link *link);
/* Forgets a link that is closed, and the replies that should have come over it. */
void requests_detach(struct bus_requests *requests, const struct bus_link *link);

#endif
