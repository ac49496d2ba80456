/*
 * Requests that travel in bundles, and replies to them.
 *
 * What one step requests of a subject gathers in the subject's bundle, which leaves at the end of the
 * step, or before when it is full, with a reply slot of its own. All replies to it come to that slot,
 * whether they come together or not; the slot is free again when each item has had one.
 *
 * A service that knows no bundles does not subscribe to their subject: where the server has nobody for
 * a bundle, its items are sent again, each as a message of its own, which is certain to be the first.
 *
 * The other side answers the items of a bundle as it likes: what it says in one step travels together.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/bus/bus_internal.h"

/* -- bundles of requests ----------------------------------------------------------------------- */

static struct bus_bundle_route *route_to(struct bus *bus, const char *subject)
{
    struct bus_bundle_route *route = bus->routes;

    while (route != NULL && strcmp(route->subject, subject) != 0)
        route = route->next;
    if (route != NULL)
        return route;
    route = heap_zeroed(1, sizeof(*route));
    route->subject = strdup(subject);
    must(route->subject != NULL);
    must(asprintf(&route->bundles, "%s" BUS_BUNDLE_SUFFIX, subject) > 0);
    route->next = bus->routes;
    bus->routes = route;
    return route;
}

static struct bus_bundle_slot *open_slot(struct bus *bus, struct bus_bundle_route *route)
{
    struct bus_bundle_slot *slot = heap_zeroed(1, sizeof(*slot));

    slot->route = route;
    must(asprintf(&slot->reply_to, "%s.%s.%" PRIu64, bus->inbox.prefix, route->subject,
                  bus->inbox.n_opened++) > 0);
    if (natsConnection_SubscribeSync(&slot->nats, bus->nats, slot->reply_to) == NATS_OK)
        return slot;
    free(slot->reply_to); /* the connection ended in between */
    free(slot);
    return NULL;
}

static void close_slot(struct bus_bundle_slot *slot)
{
    natsSubscription_Destroy(slot->nats); /* unsubscribes, if the connection lives */
    bundle_release(&slot->sent);
    free(slot->reply_to);
    free(slot);
}

static struct bus_bundle_slot *take_slot(struct bus *bus, struct bus_bundle_route *route)
{
    struct bus_bundle_slot *slot = route->free;

    if (slot == NULL)
        return open_slot(bus, route);
    route->free = slot->next;
    return slot;
}

static void give_back(struct bus_bundle_slot *slot)
{
    bundle_clear(&slot->sent);
    slot->n_open = 0;
    slot->next = slot->route->free;
    slot->route->free = slot;
}

static void listen_at(struct bus *bus, struct bus_bundle_slot *slot)
{
    if (bus->n_bundle_slots == bus->bundle_slots_capacity) {
        bus->bundle_slots_capacity = bus->bundle_slots_capacity * 2 + 64;
        bus->bundle_slots = reallocarray(bus->bundle_slots, bus->bundle_slots_capacity,
                                         sizeof(struct bus_bundle_slot *));
        must(bus->bundle_slots != NULL);
    }
    bus->bundle_slots[bus->n_bundle_slots++] = slot;
}

/* By its place among those that still lack replies. */
static struct bus_bundle_slot *stop_listening(struct bus *bus, size_t at)
{
    struct bus_bundle_slot *slot = bus->bundle_slots[at];

    bus->bundle_slots[at] = bus->bundle_slots[--bus->n_bundle_slots];
    return slot;
}

/* Nothing of it left this process: each request is told so, with the next look at what has changed. */
static void keep_unsent(struct bus *bus, struct bus_bundle_route *route)
{
    struct str rest = bundle_bytes(&route->waiting);
    struct bundle_item item;

    while (bundle_next(&rest, &item))
        bundle_add(&bus->unsent, item.handle, NULL, 0, STR(""));
    bus_wake(bus);
}

static natsStatus publish(struct bus *bus, const char *subject, const char *reply_to,
                          struct str bytes)
{
    natsStatus s;

    bus_owner_is_inside = true;
    if (reply_to != NULL)
        s = natsConnection_PublishRequest(bus->nats, subject, reply_to, bytes.p, (int)bytes.n);
    else
        s = natsConnection_Publish(bus->nats, subject, bytes.p, (int)bytes.n);
    bus_owner_is_inside = false;
    return s;
}

static void send_waiting(struct bus *bus, struct bus_bundle_route *route)
{
    struct bus_bundle_slot *slot = bus_can_call(bus) ? take_slot(bus, route) : NULL;
    struct bundle_writer sent;

    if (slot == NULL ||
        publish(bus, route->bundles, slot->reply_to, bundle_bytes(&route->waiting)) != NATS_OK) {
        keep_unsent(bus, route);
        bundle_clear(&route->waiting);
        if (slot != NULL)
            give_back(slot);
        return;
    }
    sent = slot->sent;
    slot->sent = route->waiting; /* in case there is nobody for it */
    route->waiting = sent;
    slot->n_open = slot->sent.n_items;
    memcpy(slot->handles, route->handles, slot->n_open * sizeof(route->handles[0]));
    listen_at(bus, slot);
}

enum status bus_request_bundled(struct bus *bus, const char *subject, uint64_t handle,
                                const struct bus_header *headers, size_t n_headers, struct str body)
{
    struct bus_bundle_route *route;

    must(bus->inbox.on_reply != NULL);
    route = route_to(bus, subject);
    if (body.n > BUNDLE_BODY_MAX || route->is_denied)
        return bus_request(bus, subject, handle, headers, n_headers, body);
    if (!bus_has_room(bus))
        return ST_UNAVAILABLE;
    if (route->waiting.n + bundle_item_size(headers, n_headers, body) > BUNDLE_BYTES_MAX &&
        route->waiting.n_items > 0)
        send_waiting(bus, route);
    route->handles[route->waiting.n_items] = handle;
    bundle_add(&route->waiting, handle, headers, n_headers, body);
    if (route->waiting.n_items == BUNDLE_ITEMS_MAX)
        send_waiting(bus, route);
    return ST_OK;
}

/* -- their replies ----------------------------------------------------------------------------- */

/* Nobody has seen any of it. */
static void send_one_by_one(struct bus *bus, struct bus_bundle_slot *slot)
{
    const struct bus_inbox *inbox = &bus->inbox;
    struct bundle_writer sent = slot->sent;
    struct str rest = bundle_bytes(&sent);
    struct bundle_item item;

    slot->sent = (struct bundle_writer){.p = NULL};
    give_back(slot);
    while (bundle_next(&rest, &item)) {
        struct bus_header headers[BUS_HEADERS_MAX];
        struct str left = item.headers;
        size_t n = 0;

        if (!inbox->is_awaited(inbox->closure, item.handle))
            continue;
        while (n < BUS_HEADERS_MAX && bundle_next_header(&left, &headers[n]))
            n++;
        if (bus_request(bus, slot->route->subject, item.handle, headers, n, item.body) != ST_OK)
            inbox->on_reply(inbox->closure, item.handle, BUS_NO_RESPONDERS, NULL);
    }
    bundle_release(&sent);
}

/* False: the slot waits for no such reply. */
static bool settle(struct bus_bundle_slot *slot, uint64_t handle)
{
    for (unsigned i = 0; i < slot->n_open; i++) {
        if (slot->handles[i] != handle)
            continue;
        slot->handles[i] = slot->handles[--slot->n_open];
        return true;
    }
    return false;
}

/* Handlers may send requests: by then the slot is settled, and not touched any more if it is free. */
static void deliver(struct bus *bus, size_t at, natsMsg *msg)
{
    const struct bus_inbox *inbox = &bus->inbox;
    struct bus_bundle_slot *slot = bus->bundle_slots[at];
    struct bus_message *messages[BUNDLE_ITEMS_MAX];
    const size_t n = bus_message_open(msg, messages);
    size_t n_settled = 0;

    for (size_t i = 0; i < n; i++)
        if (settle(slot, messages[i]->item.handle))
            messages[n_settled++] = messages[i];
        else
            bus_message_free(messages[i]); /* a second reply */
    if (slot->n_open == 0)
        give_back(stop_listening(bus, at));
    for (size_t i = 0; i < n_settled; i++)
        inbox->on_reply(inbox->closure, messages[i]->item.handle, BUS_REPLY, messages[i]);
}

/* What has come for one slot. False: nothing. */
static bool deliver_next(struct bus *bus, size_t at)
{
    struct bus_bundle_slot *slot = bus->bundle_slots[at];
    natsMsg *msg = NULL;
    uint64_t n = 0;
    natsStatus s;

    /* Asking an empty subscription costs a formatted error. */
    if (natsSubscription_QueuedMsgs(slot->nats, &n) != NATS_OK || n == 0)
        return false;
    s = natsSubscription_NextMsg(&msg, slot->nats, 0);
    if (s == NATS_NO_RESPONDERS)
        send_one_by_one(bus, stop_listening(bus, at));
    else if (s == NATS_OK)
        deliver(bus, at, msg);
    return s == NATS_OK;
}

void bus_bundles_deliver(struct bus *bus)
{
    for (size_t i = bus->n_bundle_slots; i-- > 0;) {
        const struct bus_bundle_slot *slot = bus->bundle_slots[i];

        while (i < bus->n_bundle_slots && bus->bundle_slots[i] == slot && deliver_next(bus, i))
            ;
    }
}

void bus_bundles_deliver_unsent(struct bus *bus)
{
    const struct bus_inbox *inbox = &bus->inbox;
    struct bundle_writer unsent = bus->unsent;
    struct str rest = bundle_bytes(&unsent);
    struct bundle_item item;

    bus->unsent = (struct bundle_writer){.p = NULL};
    while (bundle_next(&rest, &item))
        inbox->on_reply(inbox->closure, item.handle, BUS_NO_RESPONDERS, NULL);
    bundle_release(&unsent);
}

/* The server's permissions are those of a version without bundles: none of a bundle was passed on. */
static void deny(struct bus *bus, struct bus_bundle_route *route)
{
    route->is_denied = true;
    LOG(LOG_WARNING, "the bus permits no bundles; sending requests one by one",
        log_str("subject", route->bundles));
    for (size_t i = bus->n_bundle_slots; i-- > 0;)
        if (bus->bundle_slots[i]->route == route)
            send_one_by_one(bus, stop_listening(bus, i));
}

void bus_bundles_heed_denials(struct bus *bus)
{
    const uint64_t n = atomic_load(&bus->unpublished);
    char denied[sizeof(bus->denied)];

    if (n == bus->n_denied_seen)
        return;
    bus->n_denied_seen = n;
    pthread_mutex_lock(&bus->link_lock);
    memcpy(denied, bus->denied, sizeof(denied));
    pthread_mutex_unlock(&bus->link_lock);
    for (struct bus_bundle_route *route = bus->routes; route != NULL; route = route->next)
        if (!route->is_denied && strcasestr(denied, route->bundles) != NULL)
            deny(bus, route);
}

static bool is_awaited(const struct bus_inbox *inbox, const struct bus_bundle_slot *slot)
{
    for (unsigned i = 0; i < slot->n_open; i++)
        if (inbox->is_awaited(inbox->closure, slot->handles[i]))
            return true;
    return false;
}

void bus_bundles_sweep(struct bus *bus)
{
    for (size_t i = bus->n_bundle_slots; i-- > 0;)
        if (!is_awaited(&bus->inbox, bus->bundle_slots[i]))
            close_slot(stop_listening(bus, i));
}

void bus_bundles_close(struct bus *bus)
{
    while (bus->n_bundle_slots > 0)
        close_slot(bus->bundle_slots[--bus->n_bundle_slots]);
    for (struct bus_bundle_route *route = bus->routes; route != NULL; route = route->next) {
        route->is_denied = false;
        while (route->free != NULL) {
            struct bus_bundle_slot *slot = route->free;

            route->free = slot->next;
            close_slot(slot);
        }
    }
}

void bus_bundles_release(struct bus *bus)
{
    while (bus->routes != NULL) {
        struct bus_bundle_route *route = bus->routes;

        bus->routes = route->next;
        bundle_release(&route->waiting);
        free(route->subject);
        free(route->bundles);
        free(route);
    }
    free(bus->bundle_slots);
    bundle_release(&bus->unsent);
}

/* -- answering --------------------------------------------------------------------------------- */

static void send_replies(struct bus *bus, struct bus_bundle *bundle)
{
    const struct str bytes = bundle_bytes(&bundle->replies);

    if (bytes.n > 0 && (!bus_can_call(bus) ||
                        publish(bus, natsMsg_GetReply(bundle->nats), NULL, bytes) != NATS_OK))
        atomic_fetch_add(&bus->n_lost_replies, bundle->replies.n_items);
    bundle_clear(&bundle->replies);
}

static enum status reply_in_bundle(struct bus *bus, struct bus_message *request,
                                   const struct bus_header *headers, size_t n_headers,
                                   struct str body)
{
    struct bus_bundle *bundle = request->bundle;
    const size_t n = bundle_item_size(headers, n_headers, body);

    if (!bus_has_room(bus))
        return ST_UNAVAILABLE;
    if (body.n > BUNDLE_BODY_MAX)
        return bus_send(bus, bus_reply_new(request, headers, n_headers, body));
    if (!bundle->is_answering) {
        bundle->is_answering = true;
        bundle->next_answering = bus->answering;
        bus->answering = bundle;
        atomic_fetch_add(&bundle->n_used, 1);
    }
    if (bundle->replies.n > 0 && bundle->replies.n + n > BUNDLE_BYTES_MAX)
        send_replies(bus, bundle);
    bundle_add(&bundle->replies, request->item.handle, headers, n_headers, body);
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
    return bus_publish(bus, reply_to.p, NULL, headers, n_headers, body);
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
    if (request->bundle == NULL)
        return bus_message_new(reply_to.p, headers, n_headers, body);
    bundle_add(&writer, request->item.handle, headers, n_headers, body);
    reply = bus_message_new(reply_to.p, NULL, 0, bundle_bytes(&writer));
    bundle_release(&writer);
    must(reply != NULL); /* its subject is one that a message came with */
    return reply;
}

/* -- at the end of a step ---------------------------------------------------------------------- */

void bus_bundles_send(struct bus *bus)
{
    for (struct bus_bundle_route *route = bus->routes; route != NULL; route = route->next)
        if (route->waiting.n_items > 0)
            send_waiting(bus, route);
    while (bus->answering != NULL) {
        struct bus_bundle *bundle = bus->answering;

        bus->answering = bundle->next_answering;
        bundle->is_answering = false;
        send_replies(bus, bundle);
        bus_bundle_let_go(bundle);
    }
}

uint64_t bus_lost_replies(const struct bus *bus)
{
    return atomic_load(&bus->n_lost_replies);
}
