/* Requests that block, for command-line programs. */
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/bus/bus.h"
#include "common/bus/bus_parts.h"

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
    const uint64_t denied = atomic_load(&bus->links.denied_publishes);
    struct bus_call *call = &bus->call;

    if (bus->requests.on_reply == NULL)
        bus_open_inbox(bus, on_reply, is_awaited, call);
    must(bus->requests.on_reply == on_reply);

    while (!bus_is_up(bus) && left_ms(until_us) > 0)
        bus_wait(bus, left_ms(until_us));
    *call = (struct bus_call){.handle = call->handle + 1};
    enum status st = bus_request(bus, subject, call->handle, headers, n_headers, body);
    if (st != ST_OK)
        return st;
    while (!call->has_reply && atomic_load(&bus->links.denied_publishes) == denied &&
           left_ms(until_us) > 0)
        bus_wait(bus, left_ms(until_us));
    if (!call->has_reply) {
        call->handle++;
        return atomic_load(&bus->links.denied_publishes) == denied ? ST_UNCERTAIN : ST_REFUSED;
    }
    if (call->reply == NULL)
        return ST_UNAVAILABLE;
    *reply = call->reply;
    return ST_OK;
}
