/*
 * clock - wall-clock and monotonic time. Microseconds in int64_t everywhere.
 *
 * What     A program that dates what others check does not follow its machine's clock when that is set:
 *          after clock_hold(), a change by more than CLOCK_JUMP_US is a jump, and clock_us() goes on as
 *          if it had not happened until clock_take_jump(), or until the machine's clock is back.
 *          Smaller changes, as by NTP, are followed at once.
 * Threads  Any; clock_hold() before there are others. Never fails: CLOCK_REALTIME, CLOCK_MONOTONIC and
 *          CLOCK_BOOTTIME cannot on Linux.
 */
#ifndef COMMON_BASE_CLOCK_H
#define COMMON_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define CLOCK_JUMP_US 1000000

/* Since the Unix epoch: for timestamps, ids and deadlines on the bus. */
int64_t clock_us(void);
/* Since an arbitrary start: for measuring and for timeouts inside a process. */
int64_t clock_mono_us(void);
void clock_hold(void);
/* How far the machine's clock is ahead of clock_us(): 0 unless it has jumped. */
int64_t clock_jump_us(void);
/* False: there is none, or another thread has taken it. */
bool clock_take_jump(void);
/* How many have been taken: what was measured before the latest says nothing of clock_us() now. */
unsigned clock_jumps_taken(void);
/* The machine's clock: to compare with times of its files. */
int64_t clock_machine_us(void);
/* For poll(): the milliseconds from `now_us` to `due_us`, rounded up so that the time has come
   afterwards; 0 to `max_ms`. */
int clock_left_ms(int64_t due_us, int64_t now_us, int max_ms);

#endif
