/* Publishing. Nothing is written here: bus_flush() does that once in each step of the loop. */

#include <limits.h>
#include <string.h>

#include "common/base/log.h"
#include "common/bus/bus_internal.h"

/* What may wait in memory for a socket that takes no more. What one step publishes comes on top, as
   its first write is at the end of it: the replies of a batch, which its service keeps small where
   they are large. An actor begins no other while some of it waits. */
enum { BACKLOG_MAX = 8 * 1024 * 1024 };

static enum status status_of(natsStatus s)
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

static bool is_blank(const char *value)
{
    return value[strspn(value, " \t\n\v\f\r")] == '\0';
}

static natsStatus build(natsMsg **msg, const char *subject, const char *reply_to,
                        const struct bus_header *headers, size_t n_headers, struct str body)
{
    natsStatus s = natsMsg_Create(msg, subject, reply_to, body.p, (int)body.n);
    for (size_t i = 0; s == NATS_OK && i < n_headers; i++) {
        if (!is_blank(headers[i].value))
            s = natsMsgHeader_Set(*msg, headers[i].name, headers[i].value);
    }
    return s;
}

static bool has_room(const struct bus *bus)
{
    return bus_can_call(bus) && !(bus->blocked && natsConnection_Buffered(bus->nats) > BACKLOG_MAX);
}

static natsStatus hand_to_nats(struct bus *bus, natsMsg *msg)
{
    natsStatus s;

    bus_owner_is_inside = true;
    s = natsConnection_PublishMsg(bus->nats, msg);
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
    const enum status st =
        has_room(bus) ? status_of(hand_to_nats(bus, nats_of(message))) : ST_UNAVAILABLE;

    bus_message_free(message);
    return st;
}

enum status bus_publish(struct bus *bus, const char *subject, const char *reply_to,
                        const struct bus_header *headers, size_t n_headers, struct str body)
{
    natsMsg *msg = NULL;

    if (body.n > INT_MAX / 2)
        return ST_INTERNAL;
    if (!has_room(bus))
        return ST_UNAVAILABLE;

    natsStatus s = build(&msg, subject, reply_to, headers, n_headers, body);
    must(s != NATS_NO_MEMORY);
    if (s == NATS_OK)
        s = hand_to_nats(bus, msg);
    bus_discard(msg);
    return status_of(s);
}
