/*
 * recycle - gives back what h2o keeps for reuse in a thread.
 *
 * What     h2o keeps up to 16 freed blocks of each kind for the next use on the same thread, and
 *          loses them when the thread ends. Call this last on a thread that ran h2o and ends before
 *          the process does.
 * Threads  Each for itself.
 * Fails    Never.
 */
#ifndef COMMON_HTTP_RECYCLE_H
#define COMMON_HTTP_RECYCLE_H

void recycle_release(void);

#endif
