/*
 * news - notices of access, from a thread of nats.c to the gateway's loop through its queue: what
 * is remembered of an organization's keys is doubted from then on.
 *
 * Threads  news_deliver() runs on the loop, news_post() on any thread, where it does this one
 * thing.
 */
#ifndef GATEWAY_NEWS_H
#define GATEWAY_NEWS_H

#include <h2o.h>

#include "common/bus/bus.h"

void news_post(void *gateway, struct bus_message *message);
void news_deliver(h2o_multithread_receiver_t *news, h2o_linklist_t *messages);

#endif
