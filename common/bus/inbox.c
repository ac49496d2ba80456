/*
 * Requests and their replies. All replies come by one subscription, PREFIX.ID.*, whose last part is
 * the token of the request. It has a handler, although that costs a change of threads: the other
 * kind of subscription destroys the server's "no responders" together with the token on it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/bus/bus_internal.h"

enum { TOKEN_DIGITS = 16, ID_BYTES = 8 };

static bool token_of(const char *subject, uint64_t *token)
{
    uint64_t value = 0;
    const char *digits = strrchr(subject, '.');
    if (digits == NULL || strlen(++digits) != TOKEN_DIGITS)
        return false;
    for (const char *p = digits; *p != '\0'; p++) {
        const char *digit = strchr("0123456789abcdef", *p);
        if (digit == NULL)
            return false;
        value = value << 4 | (uint64_t)(digit - "0123456789abcdef");
    }
    *token = value;
    return true;
}

static void on_reply(natsConnection *nats, natsSubscription *sub, natsMsg *msg, void *closure)
{
    struct bus_mailbox *mailbox = closure;
    struct bus_inbox *inbox = &mailbox->bus->inbox;
    uint64_t token;

    if (!token_of(natsMsg_GetSubject(msg), &token)) {
        natsMsg_Destroy(msg); /* somebody guessed our inbox; not an answer to anything */
        return;
    }
    if (natsMsg_IsNoResponders(msg)) {
        natsMsg_Destroy(msg);
        inbox->on_reply(inbox->closure, token, BUS_NO_RESPONDERS, NULL);
        return;
    }
    inbox->on_reply(inbox->closure, token, BUS_REPLY, message_of(msg));
}

void bus_open_inbox(struct bus *bus, bus_reply_fn handler, void *closure)
{
    uint8_t id[ID_BYTES];
    char subject[sizeof(bus->inbox.prefix) + 1];

    must(bus->inbox.on_reply == NULL);
    must(getrandom(id, sizeof(id), 0) == sizeof(id));
    int n = snprintf(bus->inbox.prefix, sizeof(bus->inbox.prefix), "%s.", bus->inbox_prefix);
    must(n > 0 && (size_t)n + 2 * sizeof(id) + 1 < sizeof(bus->inbox.prefix));
    for (size_t i = 0; i < sizeof(id); i++)
        n += snprintf(bus->inbox.prefix + n, 3, "%02x", id[i]);
    strcpy(bus->inbox.prefix + n, ".");
    bus->inbox.on_reply = handler;
    bus->inbox.closure = closure;
    (void)snprintf(subject, sizeof(subject), "%s*", bus->inbox.prefix);
    (void)bus_subscribe(bus, subject, NULL, on_reply, NULL, NULL);
}

enum { SUBJECT_ROOM = sizeof(((struct bus_inbox *)NULL)->prefix) + TOKEN_DIGITS + 1 };

static void write_subject(const struct bus *bus, uint64_t token, char subject[SUBJECT_ROOM])
{
    must(bus->inbox.on_reply != NULL);
    (void)snprintf(subject, SUBJECT_ROOM, "%s%016" PRIx64, bus->inbox.prefix, token);
}

enum status bus_request(struct bus *bus, const char *subject, uint64_t token,
                        const struct bus_header *headers, size_t n_headers, struct str body)
{
    char reply_to[SUBJECT_ROOM];

    write_subject(bus, token, reply_to);
    return bus_publish(bus, subject, reply_to, headers, n_headers, body);
}

enum status bus_pulse(struct bus *bus, uint64_t token)
{
    char subject[SUBJECT_ROOM];

    write_subject(bus, token, subject);
    return bus_publish(bus, subject, NULL, NULL, 0, STR(""));
}

/* -- requests that block --------------------------------------------------------------------- */

static void on_answer(void *closure, uint64_t token, enum bus_reply_kind kind,
                      struct bus_message *message)
{
    struct bus *bus = closure;
    struct bus_call *call = &bus->call;

    pthread_mutex_lock(&call->lock);
    bool awaited = token == call->token && !call->answered;
    if (awaited) {
        call->answered = true;
        call->reply = message;
    }
    pthread_mutex_unlock(&call->lock);
    if (awaited)
        bus_wake(bus);
    else
        bus_message_free(message);
}

static bool answered(struct bus_call *call)
{
    pthread_mutex_lock(&call->lock);
    bool yes = call->answered;
    pthread_mutex_unlock(&call->lock);
    return yes;
}

static int left_ms(int64_t until_us)
{
    int64_t left_us = until_us - clock_mono_us();
    return left_us > 0 ? (int)(left_us / 1000) + 1 : 0;
}

/* From here on, an answer to an earlier call is late. */
static uint64_t next_token(struct bus_call *call)
{
    pthread_mutex_lock(&call->lock);
    uint64_t token = ++call->token;
    bus_message_free(call->reply);
    call->reply = NULL;
    call->answered = false;
    pthread_mutex_unlock(&call->lock);
    return token;
}

enum status bus_call(struct bus *bus, const char *subject, const struct bus_header *headers,
                     size_t n_headers, struct str body, int timeout_ms, struct bus_message **reply)
{
    int64_t until_us = clock_mono_us() + (int64_t)timeout_ms * 1000;
    struct bus_call *call = &bus->call;

    if (bus->inbox.on_reply == NULL)
        bus_open_inbox(bus, on_answer, bus);
    must(bus->inbox.on_reply == on_answer);

    while (!bus_is_up(bus) && left_ms(until_us) > 0)
        bus_wait(bus, left_ms(until_us));
    enum status st = bus_request(bus, subject, next_token(call), headers, n_headers, body);
    if (st != ST_OK)
        return st;
    while (!answered(call) && left_ms(until_us) > 0)
        bus_wait(bus, left_ms(until_us));
    if (!answered(call)) {
        (void)next_token(call);
        return ST_UNCERTAIN;
    }
    if (call->reply == NULL)
        return ST_UNAVAILABLE;
    *reply = call->reply;
    call->reply = NULL;
    return ST_OK;
}
