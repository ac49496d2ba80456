/*
 * message - a message that has come, alone or in a bundle. Private to common/bus.
 *
 * What     What nats.c delivers becomes one or more messages. A request of our own programs comes in
 *          a bundle, to which its reply subject belongs: it names the request's subject, see
 *          bus_request(). Any other message is plain.
 * Owns     Each message is its taker's until bus_message_free(), which frees what nats.c delivered
 *          with the last of them.
 * Threads  One message belongs to one thread at a time; those of one bundle may belong to several.
 *          Only the bus that has taken a bundle may touch its replies (replies.c).
 * Fails    A malformed bundle is logged and dropped.
 */
#ifndef COMMON_BUS_MESSAGE_H
#define COMMON_BUS_MESSAGE_H

#include <nats/nats.h>
#include <stdatomic.h>

#include "common/base/list.h"
#include "common/bus/bundle.h"
#include "common/bus/bus_message.h"

struct bus_link;
struct bus_parcel;

struct bus_message {
    struct bus_parcel *parcel;
    struct bundle_item item; /* of a plain message: only the body */
    char *expanded;          /* the item's body decompressed; NULL: it was not compressed */
};

/* What nats.c delivered, and the replies to send to it at the end of the step. */
struct bus_parcel {
    natsMsg *nats;
    bool is_plain;
    const void *taker; /* the bus that took it, and the connection that it came by */
    const struct bus_link *via;
    unsigned via_released; /* its n_released then */
    atomic_size_t n_used;  /* messages not freed yet, plus one while replies wait in it */
    struct list link;      /* among those with replies */
    struct bundle_writer replies;
    size_t n_messages;
    struct bus_message messages[];
};

/* These take `nats`. NULL: it is malformed, and freed. */
struct bus_parcel *parcel_of_request(natsMsg *nats, const void *taker, const struct bus_link *via);
struct bus_parcel *parcel_of_replies(natsMsg *nats);
struct bus_parcel *parcel_plain(natsMsg *nats);
void parcel_release(struct bus_parcel *parcel); /* drops one reference */

/* Decompresses the message's body, if it is compressed. False: it is malformed, or larger than
   *left, what its parcel may still use. */
bool message_expand(struct bus_message *message, size_t *left);

/* Frees it; on a thread that has called message_defer_frees(), some time later. */
void message_discard(natsMsg *nats);
void message_defer_frees(void);
void message_free_deferred(void); /* frees what this thread has discarded */

#endif
