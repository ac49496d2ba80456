/*
 * timer - the timers of an event loop. Only timer.h and timer.c name those of h2o, which are others
 *         in the version after 2.2.
 *
 * What     A timer calls its function once, in the loop's first step after its time. h2o 2.2 keeps
 *          a list of timers for each duration, so durations must be few: struct timers has a list
 *          for each that was used, TIMERS_MAX at most.
 * Owns     Timers are members of what they belong to: all zeros before their first start, and
 *          stopped before they are freed.
 * Threads  The loop's.
 */
#ifndef COMMON_HTTP_TIMER_H
#define COMMON_HTTP_TIMER_H

#include <h2o.h>
#include <h2o/version.h>
#include <stdbool.h>
#include <stdint.h>

#if H2O_LIBRARY_VERSION_MINOR < 14
#define TIMERS_MAX 24
typedef h2o_timeout_entry_t timer_entry;
#else
typedef h2o_timer_t timer_entry;
#endif

struct timers {
    h2o_loop_t *loop;
#ifdef TIMERS_MAX
    h2o_timeout_t lists[TIMERS_MAX];
    size_t n;
#endif
};

struct timer {
    timer_entry entry;
    void (*on_due)(struct timer *timer);
};

void timers_init(struct timers *timers, h2o_loop_t *loop);
/* Before the loop is destroyed. No timer may be running. */
void timers_release(struct timers *timers);

/* A timer that is running starts again. It has stopped when `on_due` is called. */
void timer_start(struct timers *timers, struct timer *timer, int64_t ms,
                 void (*on_due)(struct timer *timer));
void timer_stop(struct timer *timer); /* one that is not running is fine */
bool timer_is_running(const struct timer *timer);

#endif
