#include "common/bus/requests.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>

#include "common/base/arena.h"
#include "common/base/ascii.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/bus/message.h"

enum {
    ID_BYTES = 8,
    SWEEP_US = 2 * 1000 * 1000,
    /* Unread messages in one slot: each item has one reply, but the server lets more arrive. */
    SLOT_MESSAGES = 2 * BUNDLE_ITEMS_MAX,
    SLOT_BYTES = 32 * 1024 * 1024,
    KEPT_BYTES = 16 * 1024, /* of a writer's memory, for the next bundle */
};

static const char heartbeat[] = "heartbeat"; /* what the bus sends to itself */

void requests_init(struct bus_requests *requests, int wake_fd)
{
    requests->wake_fd = wake_fd;
    list_init(&requests->waiting);
}

void requests_open(struct bus_requests *requests, const char *inbox_prefix, bus_reply_fn on_reply,
                   bus_awaited_fn is_awaited, void *closure)
{
    uint8_t id[ID_BYTES];
    char text[2 * ID_BYTES + 1];

    must(requests->on_reply == NULL && on_reply != NULL && is_awaited != NULL);
    must(getrandom(id, sizeof(id), 0) == sizeof(id));
    hex_write(id, sizeof(id), text);
    must(asprintf(&requests->prefix, "%s.%s", inbox_prefix, text) > 0);
    requests->on_reply = on_reply;
    requests->is_awaited = is_awaited;
    requests->closure = closure;
}

static struct bus_route *route_to(struct bus_requests *requests, const char *subject)
{
    struct bus_route **at = &requests->routes, *route;

    while (*at != NULL && strcmp((*at)->subject, subject) != 0)
        at = &(*at)->next;
    route = *at;
    if (route != NULL) {
        *at = route->next;
    } else {
        route = heap_zeroed(1, sizeof(*route));
        route->subject = strdup(subject);
        must(route->subject != NULL);
    }
    route->next = requests->routes;
    requests->routes = route;
    return route;
}

/* -- slots --------------------------------------------------------------------------------------- */

static void close_slot(struct bus_slot *slot)
{
    natsSubscription_Destroy(slot->nats); /* unsubscribes, if the connection still exists */
    free(slot->reply_to);
    free(slot);
}

static struct bus_slot *open_slot(struct bus_requests *requests, struct bus_route *route)
{
    struct bus_slot *slot = heap_zeroed(1, sizeof(*slot));

    slot->route = route;
    must(asprintf(&slot->reply_to, "%s.%s.%" PRIu64, requests->prefix, route->subject,
                  requests->n_opened++) > 0);
    slot->on = requests->link;
    if (natsConnection_SubscribeSync(&slot->nats, slot->on->nats, slot->reply_to) == NATS_OK &&
        natsSubscription_SetPendingLimits(slot->nats, SLOT_MESSAGES, SLOT_BYTES) == NATS_OK)
        return slot;
    close_slot(slot); /* the connection ended in between */
    return NULL;
}

/* A free slot with unread messages, which answer no request, is closed instead of reused. */
static struct bus_slot *take_slot(struct bus_requests *requests, struct bus_route *route)
{
    struct bus_slot *slot;

    while ((slot = route->free) != NULL) {
        route->free = slot->next;
        if (link_queued(slot->nats) == 0)
            return slot;
        close_slot(slot);
    }
    /* A spare one, too: when it is needed, all servers of a cluster know of it, also one over which
       another connection of the service replies. */
    route->free = open_slot(requests, route);
    return open_slot(requests, route);
}

static void give_back(const struct bus_requests *requests, struct bus_slot *slot)
{
    if (slot->on != requests->link) {
        close_slot(slot);
        return;
    }
    slot->n_awaited = 0;
    slot->next = slot->route->free;
    slot->route->free = slot;
}

static void listen_at(struct bus_requests *requests, struct bus_slot *slot)
{
    if (requests->n_open == requests->capacity) {
        requests->capacity = requests->capacity * 2 + 64;
        requests->open =
            reallocarray(requests->open, requests->capacity, sizeof(struct bus_slot *));
        must(requests->open != NULL);
    }
    requests->open[requests->n_open++] = slot;
}

/* `at` is its index among the slots that still wait for replies. */
static struct bus_slot *stop_listening(struct bus_requests *requests, size_t at)
{
    struct bus_slot *slot = requests->open[at];

    requests->open[at] = requests->open[--requests->n_open];
    return slot;
}

/* -- requests ------------------------------------------------------------------------------------ */

/* Sends a bundle and listens for the replies to it. */
static natsStatus send(struct bus_requests *requests, struct bus_route *route,
                       const struct bundle_writer *bundle, const uint64_t *handles)
{
    struct bus_slot *slot = link_can_call(requests->link) ? take_slot(requests, route) : NULL;
    natsStatus s = NATS_CONNECTION_CLOSED;

    if (slot == NULL)
        return s;
    if (strcmp(route->subject, heartbeat) == 0)
        s = link_publish_bytes(slot->on, slot->reply_to, NULL, bundle_bytes(bundle));
    else
        s = link_publish_bytes(slot->on, route->subject, slot->reply_to, bundle_bytes(bundle));
    if (s != NATS_OK) {
        give_back(requests, slot);
        return s;
    }
    slot->n_awaited = bundle->n_items;
    memcpy(slot->handles, handles, slot->n_awaited * sizeof(handles[0]));
    listen_at(requests, slot);
    return NATS_OK;
}

/* None of the bundle left this process. */
static void keep_unsent(struct bus_requests *requests, const struct bus_route *route)
{
    for (unsigned i = 0; i < route->waiting.n_items; i++)
        bundle_add(&requests->unsent, route->handles[i], NULL, 0, STR(""));
    (void)eventfd_write(requests->wake_fd, 1);
}

static void send_waiting(struct bus_requests *requests, struct bus_route *route)
{
    if (send(requests, route, &route->waiting, route->handles) != NATS_OK)
        keep_unsent(requests, route);
    if (route->waiting.capacity > KEPT_BYTES)
        bundle_release(&route->waiting);
    bundle_clear(&route->waiting);
}

void requests_send(struct bus_requests *requests)
{
    struct bus_route *route;

    while ((route = LIST_FIRST(&requests->waiting, struct bus_route, link)) != NULL) {
        list_remove(&route->link);
        if (route->waiting.n_items > 0)
            send_waiting(requests, route);
    }
}

static enum status send_alone(struct bus_requests *requests, struct bus_route *route,
                              uint64_t handle, const struct bus_header *headers, size_t n_headers,
                              struct str body)
{
    struct bundle_writer alone = {.p = NULL};
    natsStatus s;

    bundle_add(&alone, handle, headers, n_headers, body);
    s = send(requests, route, &alone, &handle);
    bundle_release(&alone);
    return link_status_of(s);
}

enum status requests_add(struct bus_requests *requests, const char *subject, uint64_t handle,
                         const struct bus_header *headers, size_t n_headers, struct str body)
{
    const size_t n = bundle_item_size(headers, n_headers, body);
    struct bus_route *route;

    must(requests->prefix != NULL);
    if (!link_has_room(requests->link))
        return ST_UNAVAILABLE;
    route = route_to(requests, subject);
    if (route->waiting.n_items > 0 && route->waiting.n + n > BUNDLE_BYTES_MAX)
        send_waiting(requests, route);
    if (body.n > BUNDLE_BODY_MAX || n > BUNDLE_BYTES_MAX)
        return send_alone(requests, route, handle, headers, n_headers, body);
    if (!list_is_linked(&route->link))
        list_add(&requests->waiting, &route->link);
    route->handles[route->waiting.n_items] = handle;
    bundle_add(&route->waiting, handle, headers, n_headers, body);
    if (route->waiting.n_items == BUNDLE_ITEMS_MAX)
        send_waiting(requests, route);
    return ST_OK;
}

enum status requests_heartbeat(struct bus_requests *requests, uint64_t handle)
{
    must(requests->prefix != NULL);
    return send_alone(requests, route_to(requests, heartbeat), handle, NULL, 0, STR(""));
}

/* -- their replies ------------------------------------------------------------------------------- */

/* False: the slot waits for no such reply. */
static bool settle(struct bus_slot *slot, uint64_t handle)
{
    for (unsigned i = 0; i < slot->n_awaited; i++) {
        if (slot->handles[i] != handle)
            continue;
        slot->handles[i] = slot->handles[--slot->n_awaited];
        return true;
    }
    return false;
}

/* Handlers may send requests, so the slot is settled first and, if free, not touched afterwards. */
static void deliver(struct bus_requests *requests, size_t at, natsMsg *msg)
{
    struct bus_slot *slot = requests->open[at];
    struct bus_parcel *parcel = parcel_of_replies(msg);
    struct bus_message *settled[BUNDLE_ITEMS_MAX];
    const size_t n = parcel != NULL ? parcel->n_messages : 0;
    size_t n_settled = 0, left = BUNDLE_COMPRESS_MAX;

    for (size_t i = 0; i < n; i++) {
        struct bus_message *message = &parcel->messages[i];

        if (settle(slot, message->item.handle) && message_expand(message, &left))
            settled[n_settled++] = message;
        else
            bus_message_free(message); /* a second reply, or one that cannot be read */
    }
    if (slot->n_awaited == 0)
        give_back(requests, stop_listening(requests, at));
    for (size_t i = 0; i < n_settled; i++)
        requests->on_reply(requests->closure, settled[i]->item.handle, BUS_REPLY, settled[i]);
}

/* No mailbox takes the bundle. */
static void deliver_none(struct bus_requests *requests, size_t at)
{
    struct bus_slot *slot = stop_listening(requests, at);
    const unsigned n = slot->n_awaited;
    uint64_t handles[BUNDLE_ITEMS_MAX];

    memcpy(handles, slot->handles, n * sizeof(handles[0]));
    give_back(requests, slot);
    for (unsigned i = 0; i < n; i++)
        requests->on_reply(requests->closure, handles[i], BUS_NO_RESPONDERS, NULL);
}

/* Delivers the next message of one slot. False: the slot has no more. */
static bool deliver_next(struct bus_requests *requests, size_t at)
{
    struct bus_slot *slot = requests->open[at];
    natsMsg *msg = NULL;
    natsStatus s;

    /* Asking an empty subscription costs a formatted error. */
    if (link_queued(slot->nats) == 0)
        return false;
    s = natsSubscription_NextMsg(&msg, slot->nats, 0);
    if (s == NATS_NO_RESPONDERS)
        deliver_none(requests, at);
    else if (s == NATS_OK)
        deliver(requests, at, msg);
    return s == NATS_OK;
}

void requests_deliver(struct bus_requests *requests)
{
    for (size_t i = requests->n_open; i-- > 0;) {
        const struct bus_slot *slot = requests->open[i];

        while (i < requests->n_open && requests->open[i] == slot && deliver_next(requests, i))
            ;
    }
}

void requests_deliver_unsent(struct bus_requests *requests)
{
    struct bundle_writer unsent = requests->unsent;
    struct str rest = bundle_bytes(&unsent);
    struct bundle_item item;

    requests->unsent = (struct bundle_writer){.p = NULL};
    while (bundle_next(&rest, &item))
        if (requests->is_awaited(requests->closure, item.handle))
            requests->on_reply(requests->closure, item.handle, BUS_NO_RESPONDERS, NULL);
    bundle_release(&unsent);
}

/* -- slots that have no reply -------------------------------------------------------------------- */

static bool is_awaited(const struct bus_requests *requests, const struct bus_slot *slot)
{
    for (unsigned i = 0; i < slot->n_awaited; i++)
        if (requests->is_awaited(requests->closure, slot->handles[i]))
            return true;
    return false;
}

void requests_sweep(struct bus_requests *requests)
{
    const int64_t now_us = clock_mono_us();

    if (requests->n_open == 0 || now_us < requests->sweep_due_us || !link_can_call(requests->link))
        return;
    requests->sweep_due_us = now_us + SWEEP_US;
    for (size_t i = requests->n_open; i-- > 0;)
        if (!is_awaited(requests, requests->open[i]))
            close_slot(stop_listening(requests, i));
}

/* -- links --------------------------------------------------------------------------------------- */

static void close_free(struct bus_requests *requests)
{
    for (struct bus_route *route = requests->routes; route != NULL; route = route->next) {
        while (route->free != NULL) {
            struct bus_slot *slot = route->free;

            route->free = slot->next;
            close_slot(slot);
        }
    }
}

void requests_attach(struct bus_requests *requests, const struct bus_link *link)
{
    close_free(requests);
    requests->link = link;
}

bool requests_await(const struct bus_requests *requests, const struct bus_link *link)
{
    for (size_t i = 0; i < requests->n_open; i++)
        if (requests->open[i]->on == link)
            return true;
    return false;
}

void requests_detach(struct bus_requests *requests, const struct bus_link *link)
{
    for (size_t i = requests->n_open; i-- > 0;)
        if (requests->open[i]->on == link)
            close_slot(stop_listening(requests, i));
    if (requests->link == link)
        requests_attach(requests, NULL);
}

void requests_release(struct bus_requests *requests)
{
    while (requests->routes != NULL) {
        struct bus_route *route = requests->routes;

        requests->routes = route->next;
        bundle_release(&route->waiting);
        free(route->subject);
        free(route);
    }
    free(requests->open);
    free(requests->prefix);
    bundle_release(&requests->unsent);
}
