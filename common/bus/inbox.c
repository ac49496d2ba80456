/*
 * Requests and their replies. Each request that is under way has a lane: a subscription of its own,
 * PREFIX.LANE.*, drained by the owner. So the server's "no responders", which the library hands
 * over without its subject, still tells whose it is, and no thread has to be changed.
 *
 * The last part of the reply subject counts the lane's uses: a second reply to an earlier request
 * is seen to be one and dropped. A lane is used again only once its reply has come, so that the
 * same holds for "no responders". One that stays silent is closed when patience is over: every one
 * costs a look whenever something is read.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/bus/bus_internal.h"

enum {
    ID_BYTES = 8,
    SWEEPS = 4, /* while patience lasts */
    SUBJECT_ROOM = sizeof(((struct bus_inbox *)NULL)->prefix) + 44,
};

struct bus_lane {
    natsSubscription *nats;
    struct bus_lane *next_free;
    uint64_t n_uses;
    uint64_t token; /* of the request under way */
    int64_t since_us;
    size_t stem; /* of `subject`: as far as the dot before the use */
    char subject[SUBJECT_ROOM];
};

void bus_open_inbox(struct bus *bus, bus_reply_fn on_reply, void *closure)
{
    uint8_t id[ID_BYTES];

    must(bus->inbox.on_reply == NULL);
    must(getrandom(id, sizeof(id), 0) == sizeof(id));
    int n = snprintf(bus->inbox.prefix, sizeof(bus->inbox.prefix), "%s.", bus->inbox_prefix);
    must(n > 0 && (size_t)n + 2 * sizeof(id) + 1 < sizeof(bus->inbox.prefix));
    for (size_t i = 0; i < sizeof(id); i++)
        n += snprintf(bus->inbox.prefix + n, 3, "%02x", id[i]);
    bus->inbox.on_reply = on_reply;
    bus->inbox.closure = closure;
}

/* -- lanes ----------------------------------------------------------------------------------- */

static struct bus_lane *open_lane(struct bus *bus)
{
    struct bus_inbox *inbox = &bus->inbox;
    struct bus_lane *lane = calloc(1, sizeof(*lane));

    must(lane != NULL);
    lane->stem = (size_t)snprintf(lane->subject, sizeof(lane->subject), "%s.%" PRIu64 ".",
                                  inbox->prefix, inbox->n_opened++);
    must(lane->stem + sizeof("18446744073709551615") <= sizeof(lane->subject));
    lane->subject[lane->stem] = '*';
    if (natsConnection_SubscribeSync(&lane->nats, bus->nats, lane->subject) != NATS_OK) {
        free(lane); /* the connection ended in between */
        return NULL;
    }
    return lane;
}

static void close_lane(struct bus_lane *lane)
{
    natsSubscription_Destroy(lane->nats); /* unsubscribes, if the connection lives */
    free(lane);
}

static struct bus_lane *take_lane(struct bus *bus)
{
    struct bus_lane *lane = bus->inbox.free;

    if (lane != NULL)
        bus->inbox.free = lane->next_free;
    else
        lane = open_lane(bus);
    if (lane != NULL)
        (void)snprintf(lane->subject + lane->stem, sizeof(lane->subject) - lane->stem, "%" PRIu64,
                       lane->n_uses++);
    return lane;
}

static void give_back(struct bus_inbox *inbox, struct bus_lane *lane)
{
    lane->next_free = inbox->free;
    inbox->free = lane;
}

static void await(struct bus_inbox *inbox, struct bus_lane *lane)
{
    if (inbox->n_awaited == inbox->room) {
        inbox->room = inbox->room * 2 + 64;
        inbox->awaited = reallocarray(inbox->awaited, inbox->room, sizeof(struct bus_lane *));
        must(inbox->awaited != NULL);
    }
    inbox->awaited[inbox->n_awaited++] = lane;
}

void bus_inbox_close(struct bus *bus)
{
    struct bus_inbox *inbox = &bus->inbox;

    for (size_t i = 0; i < inbox->n_awaited; i++)
        close_lane(inbox->awaited[i]);
    free(inbox->awaited);
    while (inbox->free != NULL) {
        struct bus_lane *next = inbox->free->next_free;
        close_lane(inbox->free);
        inbox->free = next;
    }
    inbox->awaited = NULL;
    inbox->n_awaited = inbox->room = 0;
}

/* -- replies --------------------------------------------------------------------------------- */

/* NATS_TIMEOUT: nothing has come yet. */
static natsStatus take_reply(struct bus_lane *lane, natsMsg **msg)
{
    uint64_t n = 0;

    /* Asking an empty subscription costs a formatted error. */
    while (natsSubscription_QueuedMsgs(lane->nats, &n) == NATS_OK && n > 0) {
        natsStatus s = natsSubscription_NextMsg(msg, lane->nats, 0);

        if (s != NATS_OK || strcmp(natsMsg_GetSubject(*msg), lane->subject) == 0)
            return s;
        bus_discard(*msg); /* not an answer to what was asked last */
    }
    return NATS_TIMEOUT;
}

/* A handler may send requests, which are awaited behind those looked at here. */
void bus_inbox_deliver(struct bus *bus)
{
    struct bus_inbox *inbox = &bus->inbox;

    for (size_t i = inbox->n_awaited; i-- > 0;) {
        struct bus_lane *lane = inbox->awaited[i];
        uint64_t token = lane->token;
        natsMsg *msg = NULL;
        natsStatus s = take_reply(lane, &msg);

        if (s != NATS_OK && s != NATS_NO_RESPONDERS)
            continue;
        inbox->awaited[i] = inbox->awaited[--inbox->n_awaited];
        give_back(inbox, lane);
        if (s == NATS_OK)
            inbox->on_reply(inbox->closure, token, BUS_REPLY, message_of(msg));
        else
            inbox->on_reply(inbox->closure, token, BUS_NO_RESPONDERS, NULL);
    }
}

void bus_inbox_sweep(struct bus *bus)
{
    struct bus_inbox *inbox = &bus->inbox;
    int64_t now_us = clock_mono_us();

    if (inbox->n_awaited == 0 || now_us < inbox->sweep_due_us || !bus_can_call(bus))
        return;
    inbox->sweep_due_us = now_us + inbox->patience_us / SWEEPS;
    for (size_t i = inbox->n_awaited; i-- > 0;) {
        struct bus_lane *lane = inbox->awaited[i];

        if (now_us - lane->since_us < inbox->patience_us)
            continue;
        inbox->awaited[i] = inbox->awaited[--inbox->n_awaited];
        close_lane(lane);
    }
}

/* -- requests -------------------------------------------------------------------------------- */

/* NULL subject: to the lane itself. */
static enum status send_on_lane(struct bus *bus, const char *subject, uint64_t token,
                                const struct bus_header *headers, size_t n_headers, struct str body)
{
    struct bus_lane *lane;
    enum status st;

    must(bus->inbox.on_reply != NULL);
    if (!bus_can_call(bus) || (lane = take_lane(bus)) == NULL)
        return ST_UNAVAILABLE;
    st = subject != NULL ? bus_publish(bus, subject, lane->subject, headers, n_headers, body)
                         : bus_publish(bus, lane->subject, NULL, headers, n_headers, body);
    if (st != ST_OK) {
        give_back(&bus->inbox, lane);
        return st;
    }
    lane->token = token;
    lane->since_us = clock_mono_us();
    await(&bus->inbox, lane);
    return ST_OK;
}

enum status bus_request(struct bus *bus, const char *subject, uint64_t token,
                        const struct bus_header *headers, size_t n_headers, struct str body)
{
    return send_on_lane(bus, subject, token, headers, n_headers, body);
}

enum status bus_pulse(struct bus *bus, uint64_t token)
{
    return send_on_lane(bus, NULL, token, NULL, 0, STR(""));
}
