/*
 * heartbeat - tells whether the bus is alive, by messages that a program sends to itself.
 *
 * What     One heartbeat is in flight at a time. If it is overdue another is sent, because losing
 *          one message does not mean that the bus is down. Its absence is counted in ticks of our
 *          own timer, not measured in time: when the program itself was delayed, so was the timer.
 *          A bus is silent until it has answered on the present link.
 * Threads  One.
 */
#ifndef COMMON_HTTP_HEARTBEAT_H
#define COMMON_HTTP_HEARTBEAT_H

#include <stdbool.h>

#define HEARTBEAT_MS           25
#define HEARTBEAT_RESEND_TICKS 40 /* ticks after which another is sent */
#define HEARTBEAT_GRACE_TICKS  20 /* ticks of silence that may be a lack of CPU */

struct heartbeat {
    unsigned timeout_ticks; /* missing ones that make the bus silent */
    bool has_answered;      /* on this link */
    bool awaited;
    unsigned missed; /* ticks since it was sent, that one not counted */
};

void heartbeat_init(struct heartbeat *heartbeat, unsigned timeout_ms);

/* To be called at every tick of the timer; true: send a heartbeat now. */
bool heartbeat_tick(struct heartbeat *heartbeat);
void heartbeat_received(struct heartbeat *heartbeat);
/* The heartbeat could not be sent. A bus that is silent stays so. */
void heartbeat_not_sent(struct heartbeat *heartbeat);
/* The link went down, and the heartbeat with it, or another one came up. */
void heartbeat_reset(struct heartbeat *heartbeat);
bool heartbeat_is_silent(const struct heartbeat *heartbeat);
/* Silent for so long that requests should not wait for it. */
bool heartbeat_is_given_up(const struct heartbeat *heartbeat);

#endif
