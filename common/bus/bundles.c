/*
 * Requests that travel in bundles, and the replies to them.
 *
 * The requests of one step to a subject are collected in the subject's bundle, which is sent at the
 * end of the step, or earlier when it is full, with a reply slot of its own. All replies come to that
 * slot, together or not; the slot is free again when each item has had its reply, or when the server
 * reports that no mailbox takes the bundle.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/log.h"
#include "common/bus/bus_internal.h"

/* -- bundles of requests ----------------------------------------------------------------------- */

enum {
    /* Unread messages in one reply slot: each item has one reply, but the server lets more
       arrive. */
    SLOT_MESSAGES = 2 * BUNDLE_ITEMS_MAX,
    SLOT_BYTES = 32 * 1024 * 1024,
    KEPT_BYTES = 16 * 1024, /* of a writer's memory, for the next bundle */
};

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

static void close_slot(struct bus_bundle_slot *slot)
{
    natsSubscription_Destroy(slot->nats); /* unsubscribes, if the connection still exists */
    free(slot->reply_to);
    free(slot);
}

static struct bus_bundle_slot *open_slot(struct bus *bus, struct bus_bundle_route *route)
{
    struct bus_bundle_slot *slot = heap_zeroed(1, sizeof(*slot));

    slot->route = route;
    must(asprintf(&slot->reply_to, "%s.%s.%" PRIu64, bus->inbox.prefix, route->subject,
                  bus->inbox.n_opened++) > 0);
    slot->on = atomic_load(&bus->link);
    if (natsConnection_SubscribeSync(&slot->nats, slot->on->nats, slot->reply_to) == NATS_OK &&
        natsSubscription_SetPendingLimits(slot->nats, SLOT_MESSAGES, SLOT_BYTES) == NATS_OK)
        return slot;
    close_slot(slot); /* the connection ended in between */
    return NULL;
}

/* A free slot with unread messages, which answer no request, is closed instead of reused. */
static struct bus_bundle_slot *take_slot(struct bus *bus, struct bus_bundle_route *route)
{
    struct bus_bundle_slot *slot;

    while ((slot = route->free) != NULL) {
        route->free = slot->next;
        if (bus_queued(slot->nats) == 0)
            return slot;
        close_slot(slot);
    }
    return open_slot(bus, route);
}

static void give_back(struct bus *bus, struct bus_bundle_slot *slot)
{
    struct bus_bundle_slot **list =
        slot->on == atomic_load(&bus->link) ? &slot->route->free : &slot->route->left;

    slot->n_open = 0;
    slot->next = *list;
    *list = slot;
}

static void listen_at(struct bus *bus, struct bus_bundle_slot *slot)
{
    bus->bundle_slots =
        bus_room_for_one(bus->bundle_slots, bus->n_bundle_slots, &bus->bundle_slots_capacity);
    bus->bundle_slots[bus->n_bundle_slots++] = slot;
}

/* `at` is its index among the slots that still wait for replies. */
static struct bus_bundle_slot *stop_listening(struct bus *bus, size_t at)
{
    struct bus_bundle_slot *slot = bus->bundle_slots[at];

    bus->bundle_slots[at] = bus->bundle_slots[--bus->n_bundle_slots];
    return slot;
}

/* None of the bundle left this process: each request gets BUS_NO_RESPONDERS in the next
   bus_changed(). */
static void keep_unsent(struct bus *bus, struct bus_bundle_route *route)
{
    for (unsigned i = 0; i < route->waiting.n_items; i++)
        bundle_add(&bus->unsent, route->handles[i], NULL, 0, STR(""));
    bus_wake(bus);
}

natsStatus bus_bundle_publish(const struct bus_link *link, const char *subject,
                              const char *reply_to, struct str bytes)
{
    natsStatus s;

    bus_owner_is_inside = true;
    if (reply_to != NULL)
        s = natsConnection_PublishRequest(link->nats, subject, reply_to, bytes.p, (int)bytes.n);
    else
        s = natsConnection_Publish(link->nats, subject, bytes.p, (int)bytes.n);
    bus_owner_is_inside = false;
    return s;
}

static void empty(struct bundle_writer *writer)
{
    if (writer->capacity > KEPT_BYTES)
        bundle_release(writer);
    bundle_clear(writer);
}

static void send_waiting(struct bus *bus, struct bus_bundle_route *route)
{
    struct bus_bundle_slot *slot = bus_is_up(bus) ? take_slot(bus, route) : NULL;

    if (slot != NULL && bus_bundle_publish(slot->on, route->bundles, slot->reply_to,
                                           bundle_bytes(&route->waiting)) == NATS_OK) {
        slot->n_open = route->waiting.n_items;
        memcpy(slot->handles, route->handles, slot->n_open * sizeof(route->handles[0]));
        listen_at(bus, slot);
    } else {
        keep_unsent(bus, route);
        if (slot != NULL)
            give_back(bus, slot);
    }
    empty(&route->waiting);
}

enum status bus_request_bundled(struct bus *bus, const char *subject, uint64_t handle,
                                const struct bus_header *headers, size_t n_headers, struct str body)
{
    const size_t n = bundle_item_size(headers, n_headers, body);
    struct bus_bundle_route *route;

    must(bus->inbox.on_reply != NULL && n_headers <= BUS_HEADERS_MAX && !bus_wipes());
    if (!bus_has_room(atomic_load(&bus->link)))
        return ST_UNAVAILABLE;
    route = route_to(bus, subject);
    if (route->waiting.n_items > 0 && route->waiting.n + n > BUNDLE_BYTES_MAX)
        send_waiting(bus, route);
    if (body.n > BUNDLE_BODY_MAX || n > BUNDLE_BYTES_MAX)
        return bus_request(bus, subject, handle, headers, n_headers, body);
    route->handles[route->waiting.n_items] = handle;
    bundle_add(&route->waiting, handle, headers, n_headers, body);
    if (route->waiting.n_items == BUNDLE_ITEMS_MAX)
        send_waiting(bus, route);
    return ST_OK;
}

/* -- their replies ----------------------------------------------------------------------------- */

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

/* Handlers may send requests, so the slot is settled first and, if free, not touched afterwards. */
static void deliver(struct bus *bus, size_t at, natsMsg *msg)
{
    const struct bus_inbox *inbox = &bus->inbox;
    struct bus_bundle_slot *slot = bus->bundle_slots[at];
    struct bus_message *messages[BUNDLE_ITEMS_MAX];
    const size_t n = bus_bundle_open(msg, NULL, true, messages);
    size_t n_settled = 0, left = BUNDLE_COMPRESS_MAX;

    for (size_t i = 0; i < n; i++)
        if (settle(slot, messages[i]->item.handle) && bus_message_expand(messages[i], &left))
            messages[n_settled++] = messages[i];
        else
            bus_message_free(messages[i]); /* a second reply, or one that cannot be read */
    if (slot->n_open == 0)
        give_back(bus, stop_listening(bus, at));
    for (size_t i = 0; i < n_settled; i++)
        inbox->on_reply(inbox->closure, messages[i]->item.handle, BUS_REPLY, messages[i]);
}

/* No mailbox takes the bundle. */
static void deliver_none(struct bus *bus, size_t at)
{
    const struct bus_inbox *inbox = &bus->inbox;
    struct bus_bundle_slot *slot = stop_listening(bus, at);
    const unsigned n = slot->n_open;
    uint64_t handles[BUNDLE_ITEMS_MAX];

    memcpy(handles, slot->handles, n * sizeof(handles[0]));
    give_back(bus, slot);
    for (unsigned i = 0; i < n; i++)
        inbox->on_reply(inbox->closure, handles[i], BUS_NO_RESPONDERS, NULL);
}

/* Delivers the next message of one slot. False: the slot has no more. */
static bool deliver_next(struct bus *bus, size_t at)
{
    struct bus_bundle_slot *slot = bus->bundle_slots[at];
    natsMsg *msg = NULL;
    natsStatus s;

    /* Asking an empty subscription costs a formatted error. */
    if (bus_queued(slot->nats) == 0)
        return false;
    s = natsSubscription_NextMsg(&msg, slot->nats, 0);
    if (s == NATS_NO_RESPONDERS)
        deliver_none(bus, at);
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
        if (inbox->is_awaited(inbox->closure, item.handle))
            inbox->on_reply(inbox->closure, item.handle, BUS_NO_RESPONDERS, NULL);
    bundle_release(&unsent);
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
    for (size_t i = bus->n_bundle_slots; i-- > 0;) {
        if (is_awaited(&bus->inbox, bus->bundle_slots[i]))
            continue;
        if (bus->bundle_slots[i]->on == atomic_load(&bus->link))
            close_slot(stop_listening(bus, i));
        else
            give_back(bus, stop_listening(bus, i));
    }
}

static void close_of(struct bus_bundle_slot **at, const struct bus_link *link)
{
    while (*at != NULL) {
        struct bus_bundle_slot *slot = *at;

        if (slot->on == link) {
            *at = slot->next;
            close_slot(slot);
        } else {
            at = &slot->next;
        }
    }
}

void bus_bundles_leave(struct bus *bus)
{
    for (struct bus_bundle_route *route = bus->routes; route != NULL; route = route->next) {
        must(route->left == NULL);
        route->left = route->free;
        route->free = NULL;
    }
}

void bus_bundles_close(struct bus *bus, const struct bus_link *link)
{
    for (size_t i = bus->n_bundle_slots; i-- > 0;)
        if (bus->bundle_slots[i]->on == link)
            close_slot(stop_listening(bus, i));
    for (struct bus_bundle_route *route = bus->routes; route != NULL; route = route->next) {
        close_of(&route->free, link);
        close_of(&route->left, link);
    }
}

bool bus_bundles_lack_reply(const struct bus *bus, const struct bus_link *link)
{
    for (size_t i = 0; i < bus->n_bundle_slots; i++)
        if (bus->bundle_slots[i]->on == link)
            return true;
    return false;
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

/* -- at the end of a step ---------------------------------------------------------------------- */

void bus_bundles_send(struct bus *bus)
{
    for (struct bus_bundle_route *route = bus->routes; route != NULL; route = route->next)
        if (route->waiting.n_items > 0)
            send_waiting(bus, route);
    bus_replies_send(bus);
}
