#include "common/http/heartbeat.h"

void heartbeat_init(struct heartbeat *heartbeat, unsigned timeout_ms)
{
    *heartbeat = (struct heartbeat){.timeout_ticks = timeout_ms / HEARTBEAT_MS};
}

bool heartbeat_tick(struct heartbeat *heartbeat)
{
    if (heartbeat->awaited) {
        heartbeat->missed++;
        return heartbeat->missed % HEARTBEAT_RESEND_TICKS == 0;
    }
    heartbeat->awaited = true;
    heartbeat->missed = 0;
    return true;
}

static void begin(struct heartbeat *heartbeat, bool has_answered)
{
    heartbeat->has_answered = has_answered;
    heartbeat->awaited = false;
    heartbeat->missed = 0;
}

void heartbeat_received(struct heartbeat *heartbeat)
{
    begin(heartbeat, true);
}

void heartbeat_not_sent(struct heartbeat *heartbeat)
{
    if (heartbeat->missed < heartbeat->timeout_ticks)
        begin(heartbeat, heartbeat->has_answered);
}

void heartbeat_reset(struct heartbeat *heartbeat)
{
    begin(heartbeat, false);
}

bool heartbeat_is_silent(const struct heartbeat *heartbeat)
{
    return !heartbeat->has_answered || heartbeat->missed >= heartbeat->timeout_ticks;
}

bool heartbeat_is_given_up(const struct heartbeat *heartbeat)
{
    return heartbeat->missed >= heartbeat->timeout_ticks + HEARTBEAT_GRACE_TICKS;
}
