/*
 * watchdog - notices a thread that hangs.
 *
 * What     A thread that others rely on (an event loop, an actor, a sender) registers and then
 *          reports in every iteration of its loop. It also reports during slow work: a wait for the
 *          database is cut into slices, and an actor reports between two commands of a batch. So a
 *          thread that has not reported for seconds hangs. One that waits for work says how long it
 *          will wait at most, and reports as soon as the wait has ended.
 * Owns     An entry for each thread, until watchdog_end().
 * Threads  Any; begin, kick and end apply to the calling thread; kick and end do nothing in a thread
 *          that has not begun.
 */
#ifndef COMMON_BASE_WATCHDOG_H
#define COMMON_BASE_WATCHDOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WATCHDOG_SLICE_MS 1000     /* the longest wait without a report */
#define WATCHDOG_READY_US 3000000  /* a thread silent for longer: not ready */
#define WATCHDOG_LIVE_US  15000000 /* a thread silent for longer: not live */

/* Copies `name`, and makes it the name of the thread. */
void watchdog_begin(const char *name);
void watchdog_kick(void);
/* Counts as a report at that time. Before a wait for work: when the wait will end at the latest. */
void watchdog_kick_at(int64_t mono_us);
void watchdog_end(void);

/* How many threads have been silent for longer; `reason` (may be NULL) names the first. */
size_t watchdog_overdue(int64_t longer_than_us, char reason[128]);

#endif
