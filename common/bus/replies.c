#include "common/bus/replies.h"

#include "common/base/log.h"

void replies_init(struct bus_replies *replies, const void *taker)
{
    replies->taker = taker;
    list_init(&replies->answering);
}

/* The link that the request came by, while it has the same connection. NULL: it has not. */
static const struct bus_link *link_of(const struct bus_replies *replies,
                                      const struct bus_parcel *parcel)
{
    const struct bus_link *via = parcel->via;

    if (parcel->taker != replies->taker || !link_can_call(via) || atomic_load(&via->closing) ||
        via->n_released != parcel->via_released)
        return NULL;
    return via;
}

/* A server of a cluster learns of a reply subject before it delivers the request; another server,
   that of the link in use, may learn of it later. */
static const struct bus_link *way_back(const struct bus_replies *replies,
                                       const struct bus_link *in_use,
                                       const struct bus_parcel *parcel)
{
    const struct bus_link *via = link_of(replies, parcel);

    return via != NULL ? via : in_use;
}

static void send_collected(struct bus_replies *replies, const struct bus_link *in_use,
                           struct bus_parcel *parcel)
{
    const struct bus_link *link = way_back(replies, in_use, parcel);
    const unsigned n = parcel->replies.n_items;

    if (n > 0 &&
        (!link_can_call(link) || link_publish_bytes(link, natsMsg_GetReply(parcel->nats), NULL,
                                                    bundle_bytes(&parcel->replies)) != NATS_OK)) {
        atomic_fetch_add(&replies->n_lost, n);
        LOG(LOG_WARNING, "could not send replies", log_int("replies", n));
    }
    bundle_release(&parcel->replies);
}

/* Where a reply of `n` bytes waits for the end of the step, with the other replies to its bundle. */
static struct bundle_writer *wait_for_others(struct bus_replies *replies,
                                             const struct bus_link *link, struct bus_parcel *parcel,
                                             size_t n)
{
    if (!list_is_linked(&parcel->link)) {
        list_add_first(&replies->answering, &parcel->link);
        atomic_fetch_add(&parcel->n_used, 1);
    }
    if (parcel->replies.n_items == BUNDLE_ITEMS_MAX || parcel->replies.n + n > BUNDLE_BYTES_MAX)
        send_collected(replies, link, parcel);
    return &parcel->replies;
}

/* One that is still large, compressed or not, is published directly: a natsMsg would have to be
   zeroed, filled and freed. */
static enum status add_apart(struct bus_replies *replies, const struct bus_link *link,
                             const struct bus_message *request, const struct bus_header *headers,
                             size_t n_headers, struct str body)
{
    struct bus_parcel *parcel = request->parcel;
    struct bundle_writer writer = {.p = NULL};
    natsStatus s = NATS_OK;

    bundle_add_compressed(&writer, request->item.handle, headers, n_headers, body);
    if (parcel->taker != replies->taker || writer.n > BUNDLE_BODY_MAX)
        s = link_publish_bytes(link, natsMsg_GetReply(parcel->nats), NULL, bundle_bytes(&writer));
    else
        bundle_append(wait_for_others(replies, link, parcel, writer.n), &writer);
    bundle_release(&writer);
    return link_status_of(s);
}

enum status replies_add(struct bus_replies *replies, const struct bus_link *in_use,
                        struct bus_message *request, const struct bus_header *headers,
                        size_t n_headers, struct str body)
{
    const struct str reply_to = bus_message_reply_to(request);
    const size_t n = bundle_item_size(headers, n_headers, body);
    struct bus_parcel *parcel = request->parcel;
    const struct bus_link *link;

    if (reply_to.p == NULL)
        return ST_OK;
    if (parcel->is_plain)
        return link_publish(link_of(replies, parcel), reply_to.p, NULL, headers, n_headers, body);
    link = way_back(replies, in_use, parcel);
    if (!link_has_room(link))
        return ST_UNAVAILABLE;
    if (parcel->taker != replies->taker || body.n > BUNDLE_BODY_MAX)
        return add_apart(replies, link, request, headers, n_headers, body);
    bundle_add_compressed(wait_for_others(replies, link, parcel, n), request->item.handle, headers,
                          n_headers, body);
    return ST_OK;
}

void replies_send(struct bus_replies *replies, const struct bus_link *in_use)
{
    struct bus_parcel *parcel;

    while ((parcel = LIST_FIRST(&replies->answering, struct bus_parcel, link)) != NULL) {
        list_remove(&parcel->link);
        send_collected(replies, in_use, parcel);
        parcel_release(parcel);
    }
}
