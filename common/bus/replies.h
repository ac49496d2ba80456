/*
 * replies - replies to messages. Private to common/bus.
 *
 * What     Replies of one step to one bundle are collected until its end, large ones compressed. A
 *          message that another bus has taken is answered at once, as its bundle belongs to the
 *          thread of that bus.
 * Threads  The owner's; `n_lost` may be read on any.
 */
#ifndef COMMON_BUS_REPLIES_H
#define COMMON_BUS_REPLIES_H

#include "common/bus/link.h"
#include "common/bus/message.h"

struct bus_replies {
    const void *taker;            /* of the messages whose replies are collected */
    struct list answering;        /* those with replies to send */
    atomic_uint_least64_t n_lost; /* that could not be sent at the end of their step */
};

void replies_init(struct bus_replies *replies, const void *taker);
/* As bus_reply(); `in_use` may be NULL. */
enum status replies_add(struct bus_replies *replies, const struct bus_link *in_use,
                        struct bus_message *request, const struct bus_header *headers,
                        size_t n_headers, struct str body);
/* At the end of a step. */
void replies_send(struct bus_replies *replies, const struct bus_link *in_use);

#endif
