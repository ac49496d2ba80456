/*
 * set_clock - a test that links this sets the time of day of its own process.
 *
 * Threads  Any.
 */
#ifndef TESTS_SUPPORT_SET_CLOCK_H
#define TESTS_SUPPORT_SET_CLOCK_H

#include <stdatomic.h>
#include <stdint.h>

extern _Atomic int64_t set_clock_ahead_ms;

/* The time of day, as if it had not been set: microseconds since the Unix epoch. */
int64_t set_clock_real_us(void);

#endif
