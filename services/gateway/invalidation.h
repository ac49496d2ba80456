/*
 * invalidation - notices of access, from a thread of nats.c to the gateway's loop through its
 * queue: what is cached of an organization's keys is stale from then on.
 *
 * Threads  invalidation_deliver() runs on the loop, invalidation_post() on any thread, where it
 *          does this one thing.
 */
#ifndef GATEWAY_INVALIDATION_H
#define GATEWAY_INVALIDATION_H

#include <h2o.h>

#include "common/bus/bus.h"

void invalidation_post(void *gateway, struct bus_message *message);
void invalidation_deliver(h2o_multithread_receiver_t *invalidations, h2o_linklist_t *messages);

#endif
