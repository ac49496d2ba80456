/*
 * edge_clock - compares the clock of a loop's program with those of access and its database.
 *
 * What     Asks access every CLOCK_CHECK_MS, and every second while the machine's clock differs from
 *          the program's. Sets the metrics of the differences and how far access' deadlines are
 *          shifted (calls.h), tells whether the program's clock is the wrong one, and takes over the
 *          machine's clock when that has been set and the others confirm it (clock.h).
 * Owns     Itself, a member of its loop.
 * Threads  The loop's own; `is_skewed` any.
 */
#ifndef COMMON_HTTP_EDGE_CLOCK_H
#define COMMON_HTTP_EDGE_CLOCK_H

#include <stdatomic.h>

#include "common/base/clock_check.h"
#include "common/http/timer.h"

struct calls;

struct edge_clock {
    struct timers *timers;
    struct calls *calls;
    struct clock_check check;
    int64_t asked_us; /* clock_mono_us(); 0: no request is in flight */
    int64_t look_ms;
    unsigned n_looks, n_jumps;
    struct timer timer;
    atomic_bool is_skewed;
};

void edge_clock_open(struct edge_clock *clock, struct timers *timers, struct calls *calls);
/* The bus responds: asks at once if no reply is known. */
void edge_clock_hear(struct edge_clock *clock);

#endif
