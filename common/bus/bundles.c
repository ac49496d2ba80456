/*
 * Requests that travel in bundles, and the replies to them.
 *
 * The requests of one step to a subject are collected in the subject's bundle, which is sent at the
 * end of the step, or earlier when it is full, with a reply slot of its own. All replies come to that
 * slot, together or not; the slot is free again when each item has had its reply.
 *
 * A service of a version without bundles does not subscribe to their subject. If no mailbox takes a
 * bundle, none of its items can have been run, and they are sent again as single messages. The same
 * happens if the server does not permit the first bundle on a link.
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
    bundle_release(&slot->sent);
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

    if (slot->sent.capacity > KEPT_BYTES)
        bundle_release(&slot->sent);
    bundle_clear(&slot->sent);
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
    struct str rest = bundle_bytes(&route->waiting);
    struct bundle_item item;

    while (bundle_next(&rest, &item))
        bundle_add(&bus->unsent, item.handle, NULL, 0, STR(""));
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

/* What is known about a route holds for one link only. */
static void look_at_link(const struct bus *bus, struct bus_bundle_route *route)
{
    const unsigned link = atomic_load(&bus->n_changes);

    if (route->link == link)
        return;
    route->link = link;
    route->is_denied = route->is_proven = false;
}

static void send_waiting(struct bus *bus, struct bus_bundle_route *route)
{
    struct bus_bundle_slot *slot = bus_is_up(bus) ? take_slot(bus, route) : NULL;
    struct bundle_writer sent;

    look_at_link(bus, route);
    if (slot == NULL || bus_bundle_publish(slot->on, route->bundles, slot->reply_to,
                                           bundle_bytes(&route->waiting)) != NATS_OK) {
        keep_unsent(bus, route);
        bundle_clear(&route->waiting);
        if (slot != NULL)
            give_back(bus, slot);
        return;
    }
    sent = slot->sent;
    slot->sent = route->waiting; /* in case no mailbox takes it */
    route->waiting = sent;
    slot->link = route->link;
    slot->n_open = slot->sent.n_items;
    memcpy(slot->handles, route->handles, slot->n_open * sizeof(route->handles[0]));
    listen_at(bus, slot);
}

static bool is_under_way(const struct bus *bus, const struct bus_bundle_route *route)
{
    for (size_t i = 0; i < bus->n_bundle_slots; i++)
        if (bus->bundle_slots[i]->route == route && bus->bundle_slots[i]->link == route->link)
            return true;
    return false;
}

/* Until the server is known to permit bundles, at most one is in flight: a denial can only be for
   that one. */
static bool may_bundle(const struct bus *bus, struct bus_bundle_route *route)
{
    look_at_link(bus, route);
    return !route->is_denied && (route->is_proven || !is_under_way(bus, route));
}

enum status bus_request_bundled(struct bus *bus, const char *subject, uint64_t handle,
                                const struct bus_header *headers, size_t n_headers, struct str body)
{
    struct bus_bundle_route *route;

    const size_t n = bundle_item_size(headers, n_headers, body);

    must(bus->inbox.on_reply != NULL && n_headers <= BUS_HEADERS_MAX && !bus_wipes());
    if (!bus_has_room(atomic_load(&bus->link)))
        return ST_UNAVAILABLE;
    route = route_to(bus, subject);
    if (route->waiting.n_items > 0 && route->waiting.n + n > BUNDLE_BYTES_MAX)
        send_waiting(bus, route);
    if (body.n > BUNDLE_BODY_MAX || n > BUNDLE_BYTES_MAX || !may_bundle(bus, route))
        return bus_request(bus, subject, handle, headers, n_headers, body);
    route->handles[route->waiting.n_items] = handle;
    bundle_add(&route->waiting, handle, headers, n_headers, body);
    if (route->waiting.n_items == BUNDLE_ITEMS_MAX)
        send_waiting(bus, route);
    return ST_OK;
}

/* -- their replies ----------------------------------------------------------------------------- */

/* Takes the items of a bundle that no mailbox got and sends each as a message. */
static void send_one_by_one(struct bus *bus, const char *subject, struct bundle_writer *writer)
{
    const struct bus_inbox *inbox = &bus->inbox;
    struct bundle_writer items = *writer;
    struct str rest = bundle_bytes(&items);
    struct bundle_item item;

    *writer = (struct bundle_writer){.p = NULL};
    while (bundle_next(&rest, &item)) {
        struct bus_header headers[BUS_HEADERS_MAX];
        struct str left = item.headers;
        size_t n = 0;

        if (!inbox->is_awaited(inbox->closure, item.handle))
            continue;
        while (n < BUS_HEADERS_MAX && bundle_next_header(&left, &headers[n]))
            n++;
        if (bus_request(bus, subject, item.handle, headers, n, item.body) != ST_OK)
            inbox->on_reply(inbox->closure, item.handle, BUS_NO_RESPONDERS, NULL);
    }
    bundle_release(&items);
}

static void take_apart(struct bus *bus, size_t at)
{
    struct bus_bundle_slot *slot = stop_listening(bus, at);
    struct bundle_writer sent = slot->sent;
    const char *subject = slot->route->subject;

    slot->sent = (struct bundle_writer){.p = NULL};
    give_back(bus, slot);
    send_one_by_one(bus, subject, &sent);
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
    if ((s == NATS_OK || s == NATS_NO_RESPONDERS) && slot->link == slot->route->link)
        slot->route->is_proven = true;
    if (s == NATS_NO_RESPONDERS)
        take_apart(bus, at);
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

/* The server still has the permissions of a version without bundles. If the route is not proven,
   its only bundle in flight is the one that was denied, and it was not delivered. Otherwise,
   bundles in flight may have been delivered, and end when their time is over. */
static void deny(struct bus *bus, struct bus_bundle_route *route)
{
    if (!route->is_denied)
        LOG(LOG_WARNING, "the bus permits no bundles; sending requests one by one",
            log_str("subject", route->bundles));
    route->is_denied = true;
    for (size_t i = bus->n_bundle_slots; !route->is_proven && i-- > 0;)
        if (bus->bundle_slots[i]->route == route && bus->bundle_slots[i]->link == route->link)
            take_apart(bus, i);
    send_one_by_one(bus, route->subject, &route->waiting);
}

static void heed(struct bus *bus, const struct bus_denial *denial)
{
    for (struct bus_bundle_route *route = bus->routes; route != NULL; route = route->next) {
        look_at_link(bus, route);
        if (denial->link == route->link && strcasestr(denial->text, route->bundles) != NULL)
            deny(bus, route);
    }
}

void bus_bundles_heed_denials(struct bus *bus)
{
    const uint64_t n_unpublished = atomic_load(&bus->unpublished);
    struct bus_denial denials[BUS_DENIALS_MAX];
    size_t n;

    if (n_unpublished == bus->n_denials_seen)
        return;
    bus->n_denials_seen = n_unpublished;
    pthread_mutex_lock(&bus->link_lock);
    n = bus->n_denials;
    memcpy(denials, bus->denials, n * sizeof(denials[0]));
    bus->n_denials = 0;
    pthread_mutex_unlock(&bus->link_lock);
    for (size_t i = 0; i < n; i++)
        heed(bus, &denials[i]);
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
