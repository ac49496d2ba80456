/*
 * post - what threads of nats.c and the main thread tell a gateway's loop, through its queue.
 *
 * Threads  post_deliver() runs on the loop; the others on any thread, where they do this one thing.
 */
#ifndef GATEWAY_POST_H
#define GATEWAY_POST_H

#include <h2o.h>

#include "common/bus/bus.h"

struct gateway;

void post_notice(void *gateway, struct bus_message *message);
void post_link(void *gateway, bool up);
void post_stop(struct gateway *gateway);

void post_deliver(h2o_multithread_receiver_t *inbox, h2o_linklist_t *messages);

#endif
