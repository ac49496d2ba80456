/*
 * held - what large answers occupy in memory until their clients have taken them.
 *
 * What     One bound for all of a loop. A client that takes nothing has seconds before it is given
 *          up, and in seconds a few of them could be owed more than there is memory: beyond the
 *          bound, those who have waited longest are given up first. Small answers, which sockets
 *          take at once, are not counted.
 * Owns     Nothing: an answer lives in its visit, zeroed before its first use.
 * Threads  The loop's.
 */
#ifndef COMMON_EDGE_HELD_H
#define COMMON_EDGE_HELD_H

#include <h2o.h>

#define HELD_LEAST ((size_t)64 * 1024)

struct held_answer {
    h2o_linklist_t link;
    size_t n;
};

struct held {
    h2o_linklist_t answers; /* oldest first */
    size_t n, most;
};

void held_init(struct held *held, size_t most);
/* It is about to be sent. */
void held_add(struct held *held, struct held_answer *answer, size_t n);
/* It has been taken, or given up; also one that was never added. */
void held_drop(struct held *held, struct held_answer *answer);
/* One that is to be given up, and is dropped already; NULL: there is room for all. */
struct held_answer *held_excess(struct held *held);

#endif
