/*
 * event_loop - h2o's event loop, with timers that do not depend on the time of day.
 *
 * What     h2o reads the time with gettimeofday(). When the machine's clock is set, all of its timers
 *          would be due at once, which closes every kept connection as idle, or none for as long as
 *          the clock was set back, in which no request would time out. So event_loop.c defines
 *          gettimeofday() for the whole program, and libraries find it before libc's: it goes on
 *          from the time of day at which the program started, whatever happens to the clock.
 *          Our own code asks clock.h.
 *          h2o also takes the Date header from it: where the clock was set since, or the machine was
 *          suspended, that header stays off by as much until the program is started again.
 * Threads  Any.
 */
#ifndef COMMON_HTTP_EVENT_LOOP_H
#define COMMON_HTTP_EVENT_LOOP_H

#include <h2o.h>

/* Never NULL. */
h2o_loop_t *event_loop_create(void);

/* h2o keeps up to 16 freed blocks of each kind for reuse on the same thread, and leaks them when
   the thread ends. Frees them: call it last on a thread that ran h2o and ends before the process
   does. */
void event_loop_end_thread(void);

#endif
