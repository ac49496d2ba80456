/* Replies to messages: those to one bundle are collected until the end of the step, large ones
   compressed. */
#include "common/base/log.h"
#include "common/bus/bus_internal.h"

static void send_replies(struct bus *bus, struct bus_bundle *bundle)
{
    const struct str bytes = bundle_bytes(&bundle->replies);
    const struct bus_link *link = bus_link_for_reply(bus, bundle->via);
    const unsigned n = bundle->replies.n_items;

    if (n > 0 &&
        (!bus_link_can_call(link) ||
         bus_bundle_publish(link, natsMsg_GetReply(bundle->nats), NULL, bytes) != NATS_OK)) {
        atomic_fetch_add(&bus->n_lost_replies, n);
        LOG(LOG_WARNING, "could not send replies", log_int("replies", n));
    }
    bundle_release(&bundle->replies);
}

/* Where a reply waits for the end of the step, with the other replies to its bundle. */
static struct bundle_writer *wait_for_others(struct bus *bus, struct bus_bundle *bundle, size_t n)
{
    if (!bundle->is_answering) {
        bundle->is_answering = true;
        bundle->next_answering = bus->answering;
        bus->answering = bundle;
        atomic_fetch_add(&bundle->n_used, 1);
    }
    if (bundle->replies.n_items == BUNDLE_ITEMS_MAX || bundle->replies.n + n > BUNDLE_BYTES_MAX)
        send_replies(bus, bundle);
    return &bundle->replies;
}

/* A reply that is still large, compressed or not, is published directly: a natsMsg would have to be
   zeroed, filled and freed. */
static enum status reply_large(struct bus *bus, const struct bus_link *link,
                               const struct bus_message *request, const struct bus_header *headers,
                               size_t n_headers, struct str body)
{
    struct bundle_writer writer = {.p = NULL};
    natsStatus s = NATS_OK;

    bundle_add_compressed(&writer, request->item.handle, headers, n_headers, body);
    if (writer.n > BUNDLE_BODY_MAX)
        s = bus_bundle_publish(link, natsMsg_GetReply(request->bundle->nats), NULL,
                               bundle_bytes(&writer));
    else
        bundle_append(wait_for_others(bus, request->bundle, writer.n), &writer);
    bundle_release(&writer);
    return bus_status_of(s);
}

static enum status reply_in_bundle(struct bus *bus, struct bus_message *request,
                                   const struct bus_header *headers, size_t n_headers,
                                   struct str body)
{
    const size_t n = bundle_item_size(headers, n_headers, body);
    const struct bus_link *link = bus_link_for_reply(bus, request->via);

    if (!bus_has_room(link))
        return ST_UNAVAILABLE;
    if (body.n > BUNDLE_BODY_MAX)
        return reply_large(bus, link, request, headers, n_headers, body);
    bundle_add_compressed(wait_for_others(bus, request->bundle, n), request->item.handle, headers,
                          n_headers, body);
    return ST_OK;
}

enum status bus_reply(struct bus *bus, struct bus_message *request,
                      const struct bus_header *headers, size_t n_headers, struct str body)
{
    const struct str reply_to = bus_message_reply_to(request);

    if (reply_to.p == NULL)
        return ST_OK;
    if (request->bundle != NULL)
        return reply_in_bundle(bus, request, headers, n_headers, body);
    return bus_publish_via(bus_link_for_reply(bus, request->via), reply_to.p, NULL, headers,
                           n_headers, body);
}

struct bus_message *bus_reply_new(const struct bus_message *request,
                                  const struct bus_header *headers, size_t n_headers,
                                  struct str body)
{
    const struct str reply_to = bus_message_reply_to(request);
    struct bundle_writer writer = {.p = NULL};
    struct bus_message *reply;

    if (reply_to.p == NULL)
        return NULL;
    if (request->bundle == NULL) {
        reply = bus_message_new(reply_to.p, headers, n_headers, body);
    } else {
        bundle_add_compressed(&writer, request->item.handle, headers, n_headers, body);
        reply = bus_message_new(reply_to.p, NULL, 0, bundle_bytes(&writer));
        bundle_release(&writer);
        must(reply != NULL); /* a message came with this reply subject, so it is valid */
    }
    if (reply != NULL)
        reply->via = request->via;
    return reply;
}

void bus_replies_send(struct bus *bus)
{
    while (bus->answering != NULL) {
        struct bus_bundle *bundle = bus->answering;

        bus->answering = bundle->next_answering;
        bundle->is_answering = false;
        send_replies(bus, bundle);
        bus_bundle_release(bundle);
    }
}

uint64_t bus_lost_replies(const struct bus *bus)
{
    return atomic_load(&bus->n_lost_replies);
}
