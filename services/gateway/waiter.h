/*
 * waiter - something that waits in a list until what it waits for is there.
 *
 * Owns     Nothing; a waiter is part of what waits.
 * Threads  The gateway's loop.
 */
#ifndef GATEWAY_WAITER_H
#define GATEWAY_WAITER_H

#include <h2o.h>

struct waiter {
    h2o_linklist_t link;
    /* The waiter is in no list then and may wait again. */
    void (*resume)(struct waiter *waiter);
};

void waiter_wait(struct waiter *waiter, h2o_linklist_t *list);
void waiter_leave(struct waiter *waiter); /* wherever it waits, if it does */
void waiters_resume(h2o_linklist_t *list);

#endif
