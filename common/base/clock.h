/*
 * clock - wall-clock and monotonic time. Microseconds in int64_t everywhere.
 *
 * Threads  Any. Never fails: CLOCK_REALTIME and CLOCK_MONOTONIC cannot on Linux.
 */
#ifndef COMMON_BASE_CLOCK_H
#define COMMON_BASE_CLOCK_H

#include <stdint.h>

/* Since the Unix epoch: for timestamps, ids and deadlines on the bus. */
int64_t clock_us(void);
/* Since an arbitrary start: for measuring and for timeouts inside a process. */
int64_t clock_mono_us(void);
/* For poll(): the milliseconds from `now_us` to `due_us`, rounded up so that the time has come
   afterwards; 0 to `max_ms`. */
int clock_left_ms(int64_t due_us, int64_t now_us, int max_ms);

#endif
