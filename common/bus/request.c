/*
 * Publishing, requests and their replies, and requests that block, for command-line programs.
 *
 * The last part of a reply subject is the handle of the request. That would identify the server's
 * "no responders", too, but nats.c delivers it without its subject, and a subscription with a
 * callback would deliver every reply on another thread (decision 1). So each request takes a reply
 * slot: a subscription of its own, PREFIX.SLOT.*, drained by the owner, which stores the handle of
 * its latest request. A slot is reused only once that reply has come, so that "no responders" is
 * never attributed to a later request. A slot without a reply is closed when the caller no longer
 * awaits it.
 */

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/base/arena.h"
#include "common/base/ascii.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/bus/bus_internal.h"

/* -- publishing ------------------------------------------------------------------------------ */

/* How many bytes may wait in memory for a socket that takes no more. The messages of one step come
   on top, as they are first written at its end: for an actor, the replies of a batch, which is
   small if they are large. An actor begins no other batch while some of it waits. */
enum { BACKLOG_MAX = 8 * 1024 * 1024 };

enum status bus_status_of(natsStatus s)
{
    switch (s) {
    case NATS_OK:
        return ST_OK;
    case NATS_MAX_PAYLOAD:
    case NATS_INVALID_ARG:
    case NATS_INVALID_SUBJECT:
        return ST_INTERNAL;
    default:
        return ST_UNAVAILABLE;
    }
}

static natsStatus build(natsMsg **msg, const char *subject, const char *reply_to,
                        const struct bus_header *headers, size_t n_headers, struct str body)
{
    natsStatus s = natsMsg_Create(msg, subject, reply_to, body.p, (int)body.n);
    for (size_t i = 0; s == NATS_OK && i < n_headers; i++) {
        if (bus_trimmed(headers[i].value).n > 0)
            s = natsMsgHeader_Set(*msg, headers[i].name, headers[i].value);
    }
    return s;
}

bool bus_has_room(const struct bus_link *link)
{
    return bus_link_can_call(link) &&
           !(link->blocked && natsConnection_Buffered(link->nats) > BACKLOG_MAX);
}

static natsStatus hand_to_nats(const struct bus_link *link, natsMsg *msg)
{
    natsStatus s;

    bus_owner_is_inside = true;
    s = natsConnection_PublishMsg(link->nats, msg);
    bus_owner_is_inside = false;
    return s;
}

struct bus_message *bus_message_new(const char *subject, const struct bus_header *headers,
                                    size_t n_headers, struct str body)
{
    natsMsg *msg = NULL;
    natsStatus s;

    if (body.n > INT_MAX / 2)
        return NULL;
    s = build(&msg, subject, NULL, headers, n_headers, body);
    must(s != NATS_NO_MEMORY);
    if (s == NATS_OK)
        return message_of(msg);
    natsMsg_Destroy(msg);
    return NULL;
}

enum status bus_send(struct bus *bus, struct bus_message *message)
{
    const struct bus_link *link = bus_link_for_reply(bus, message->via);
    const enum status st =
        bus_has_room(link) ? bus_status_of(hand_to_nats(link, message->nats)) : ST_UNAVAILABLE;

    bus_message_free(message);
    return st;
}

enum status bus_publish_via(struct bus_link *link, const char *subject, const char *reply_to,
                            const struct bus_header *headers, size_t n_headers, struct str body)
{
    natsMsg *msg = NULL;

    if (body.n > INT_MAX / 2)
        return ST_INTERNAL;
    if (!bus_has_room(link))
        return ST_UNAVAILABLE;

    natsStatus s = build(&msg, subject, reply_to, headers, n_headers, body);
    must(s != NATS_NO_MEMORY);
    if (s == NATS_OK)
        s = hand_to_nats(link, msg);
    bus_discard(msg);
    return bus_status_of(s);
}

enum status bus_publish(struct bus *bus, const char *subject, const char *reply_to,
                        const struct bus_header *headers, size_t n_headers, struct str body)
{
    return bus_publish_via(atomic_load(&bus->link), subject, reply_to, headers, n_headers, body);
}

enum {
    ID_BYTES = 8,
    SWEEP_US = 2 * 1000 * 1000,
    SUBJECT_CAPACITY = sizeof(((struct bus_inbox *)NULL)->prefix) + 44,
};

struct bus_reply_slot {
    natsSubscription *nats;
    const struct bus_link *on;
    struct bus_reply_slot *next_free;
    uint64_t handle; /* of the latest request */
    size_t stem;     /* length of `subject` up to and including the dot before the handle */
    char subject[SUBJECT_CAPACITY];
};

void bus_open_inbox(struct bus *bus, bus_reply_fn on_reply, bus_awaited_fn is_awaited,
                    void *closure)
{
    uint8_t id[ID_BYTES];

    must(bus->inbox.on_reply == NULL && on_reply != NULL && is_awaited != NULL);
    must(getrandom(id, sizeof(id), 0) == sizeof(id));
    int n = snprintf(bus->inbox.prefix, sizeof(bus->inbox.prefix), "%s.", bus->inbox_prefix);
    must(n > 0 && (size_t)n + 2 * sizeof(id) + 1 < sizeof(bus->inbox.prefix));
    hex_write(id, sizeof(id), bus->inbox.prefix + n);
    bus->inbox.on_reply = on_reply;
    bus->inbox.is_awaited = is_awaited;
    bus->inbox.closure = closure;
}

/* -- reply slots ----------------------------------------------------------------------------- */

static struct bus_reply_slot *open_slot(struct bus *bus)
{
    struct bus_inbox *inbox = &bus->inbox;
    struct bus_reply_slot *slot = heap_zeroed(1, sizeof(*slot));

    slot->stem = (size_t)snprintf(slot->subject, sizeof(slot->subject), "%s.%" PRIu64 ".",
                                  inbox->prefix, inbox->n_opened++);
    must(slot->stem + sizeof("18446744073709551615") <= sizeof(slot->subject));
    slot->subject[slot->stem] = '*';
    slot->on = atomic_load(&bus->link);
    if (natsConnection_SubscribeSync(&slot->nats, slot->on->nats, slot->subject) != NATS_OK) {
        free(slot); /* the connection ended in between */
        return NULL;
    }
    return slot;
}

static void close_slot(struct bus_reply_slot *slot)
{
    natsSubscription_Destroy(slot->nats); /* unsubscribes, if the connection still exists */
    free(slot);
}

static struct bus_reply_slot *take_slot(struct bus *bus, uint64_t handle)
{
    struct bus_reply_slot *slot = bus->inbox.free;

    if (slot != NULL)
        bus->inbox.free = slot->next_free;
    else
        slot = open_slot(bus);
    if (slot == NULL)
        return NULL;
    slot->handle = handle;
    (void)snprintf(slot->subject + slot->stem, sizeof(slot->subject) - slot->stem, "%" PRIu64,
                   handle);
    return slot;
}

static void give_back(struct bus *bus, struct bus_reply_slot *slot)
{
    struct bus_inbox *inbox = &bus->inbox;
    struct bus_reply_slot **list =
        slot->on == atomic_load(&bus->link) ? &inbox->free : &inbox->left;

    slot->next_free = *list;
    *list = slot;
}

void *bus_room_for_one(void *at, size_t n, size_t *capacity)
{
    if (n < *capacity)
        return at;
    *capacity = *capacity * 2 + 64;
    at = reallocarray(at, *capacity, sizeof(void *));
    must(at != NULL);
    return at;
}

static void listen_for(struct bus_inbox *inbox, struct bus_reply_slot *slot)
{
    inbox->silent = bus_room_for_one(inbox->silent, inbox->n_silent, &inbox->capacity);
    inbox->silent[inbox->n_silent++] = slot;
}

static void close_of(struct bus_reply_slot **at, const struct bus_link *link)
{
    while (*at != NULL) {
        struct bus_reply_slot *slot = *at;

        if (slot->on == link) {
            *at = slot->next_free;
            close_slot(slot);
        } else {
            at = &slot->next_free;
        }
    }
}

void bus_inbox_leave(struct bus *bus)
{
    must(bus->inbox.left == NULL);
    bus->inbox.left = bus->inbox.free;
    bus->inbox.free = NULL;
}

void bus_inbox_close(struct bus *bus, const struct bus_link *link)
{
    struct bus_inbox *inbox = &bus->inbox;

    close_of(&inbox->free, link);
    close_of(&inbox->left, link);
    for (size_t i = inbox->n_silent; i-- > 0;)
        if (inbox->silent[i]->on == link) {
            close_slot(inbox->silent[i]);
            inbox->silent[i] = inbox->silent[--inbox->n_silent];
        }
}

bool bus_inbox_lacks_reply(const struct bus *bus, const struct bus_link *link)
{
    for (size_t i = 0; i < bus->inbox.n_silent; i++)
        if (bus->inbox.silent[i]->on == link)
            return true;
    return false;
}

/* -- replies --------------------------------------------------------------------------------- */

/* NATS_TIMEOUT: nothing has come yet. */
static natsStatus take_reply(struct bus_reply_slot *slot, natsMsg **msg)
{
    uint64_t n = 0;

    /* Asking an empty subscription costs a formatted error. */
    while (natsSubscription_QueuedMsgs(slot->nats, &n) == NATS_OK && n > 0) {
        natsStatus s = natsSubscription_NextMsg(msg, slot->nats, 0);

        if (s != NATS_OK || strcmp(natsMsg_GetSubject(*msg), slot->subject) == 0)
            return s;
        bus_discard(*msg); /* a second reply to an earlier request */
    }
    return NATS_TIMEOUT;
}

/* A handler may send requests; their slots are added after those looked at here. */
void bus_inbox_deliver(struct bus *bus)
{
    struct bus_inbox *inbox = &bus->inbox;

    for (size_t i = inbox->n_silent; i-- > 0;) {
        struct bus_reply_slot *slot = inbox->silent[i];
        uint64_t handle = slot->handle;
        natsMsg *msg = NULL;
        natsStatus s = take_reply(slot, &msg);

        if (s != NATS_OK && s != NATS_NO_RESPONDERS)
            continue;
        inbox->silent[i] = inbox->silent[--inbox->n_silent];
        give_back(bus, slot);
        if (s == NATS_OK)
            inbox->on_reply(inbox->closure, handle, BUS_REPLY, message_of(msg));
        else
            inbox->on_reply(inbox->closure, handle, BUS_NO_RESPONDERS, NULL);
    }
}

void bus_inbox_sweep(struct bus *bus)
{
    struct bus_inbox *inbox = &bus->inbox;
    int64_t now_us = clock_mono_us();

    if (inbox->n_silent + bus->n_bundle_slots == 0 || now_us < inbox->sweep_due_us ||
        !bus_is_up(bus))
        return;
    inbox->sweep_due_us = now_us + SWEEP_US;
    bus_bundles_sweep(bus);
    for (size_t i = inbox->n_silent; i-- > 0;) {
        struct bus_reply_slot *slot = inbox->silent[i];

        if (inbox->is_awaited(inbox->closure, slot->handle))
            continue;
        inbox->silent[i] = inbox->silent[--inbox->n_silent];
        if (slot->on == atomic_load(&bus->link))
            close_slot(slot);
        else
            give_back(bus, slot);
    }
}

/* -- requests -------------------------------------------------------------------------------- */

/* A NULL subject sends to the slot itself. */
static enum status send_request(struct bus *bus, const char *subject, uint64_t handle,
                                const struct bus_header *headers, size_t n_headers, struct str body)
{
    struct bus_reply_slot *slot;
    enum status st;

    must(bus->inbox.on_reply != NULL);
    if (!bus_is_up(bus) || (slot = take_slot(bus, handle)) == NULL)
        return ST_UNAVAILABLE;
    st = subject != NULL ? bus_publish(bus, subject, slot->subject, headers, n_headers, body)
                         : bus_publish(bus, slot->subject, NULL, headers, n_headers, body);
    if (st != ST_OK) {
        give_back(bus, slot);
        return st;
    }
    listen_for(&bus->inbox, slot);
    return ST_OK;
}

enum status bus_request(struct bus *bus, const char *subject, uint64_t handle,
                        const struct bus_header *headers, size_t n_headers, struct str body)
{
    return send_request(bus, subject, handle, headers, n_headers, body);
}

enum status bus_send_heartbeat(struct bus *bus, uint64_t handle)
{
    return send_request(bus, NULL, handle, NULL, 0, STR(""));
}

static void on_reply(void *closure, uint64_t handle, enum bus_reply_kind kind,
                     struct bus_message *message)
{
    struct bus_call *call = closure;

    if (handle != call->handle || call->has_reply) {
        bus_message_free(message); /* late: a reply to an earlier call */
        return;
    }
    call->has_reply = true;
    call->reply = message;
}

static bool is_awaited(void *closure, uint64_t handle)
{
    const struct bus_call *call = closure;

    return handle == call->handle && !call->has_reply;
}

static int left_ms(int64_t until_us)
{
    int64_t left_us = until_us - clock_mono_us();
    return left_us > 0 ? (int)(left_us / 1000) + 1 : 0;
}

enum status bus_call(struct bus *bus, const char *subject, const struct bus_header *headers,
                     size_t n_headers, struct str body, int timeout_ms, struct bus_message **reply)
{
    int64_t until_us = clock_mono_us() + (int64_t)timeout_ms * 1000;
    const uint64_t unpublished = atomic_load(&bus->unpublished);
    struct bus_call *call = &bus->call;

    if (bus->inbox.on_reply == NULL)
        bus_open_inbox(bus, on_reply, is_awaited, call);
    must(bus->inbox.on_reply == on_reply);

    while (!bus_is_up(bus) && left_ms(until_us) > 0)
        bus_wait(bus, left_ms(until_us));
    *call = (struct bus_call){.handle = call->handle + 1};
    enum status st = bus_request(bus, subject, call->handle, headers, n_headers, body);
    if (st != ST_OK)
        return st;
    while (!call->has_reply && atomic_load(&bus->unpublished) == unpublished &&
           left_ms(until_us) > 0)
        bus_wait(bus, left_ms(until_us));
    if (!call->has_reply) {
        call->handle++;
        return atomic_load(&bus->unpublished) == unpublished ? ST_UNCERTAIN : ST_REFUSED;
    }
    if (call->reply == NULL)
        return ST_UNAVAILABLE;
    *reply = call->reply;
    return ST_OK;
}
