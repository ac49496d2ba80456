/*
 * bus_message - a message that has come: a request from a mailbox, a reply, or a notice.
 *
 * Owns     Its taker frees it with bus_message_free(); texts and bytes point into it.
 * Threads  One thread at a time, any.
 */
#ifndef COMMON_BUS_BUS_MESSAGE_H
#define COMMON_BUS_BUS_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/str.h"

struct bus_message;

struct str bus_message_subject(const struct bus_message *message);
struct str bus_message_body(const struct bus_message *message);
struct str bus_message_reply_to(const struct bus_message *message); /* STR_NONE: no reply */
struct str bus_message_header(struct bus_message *message, const char *name); /* STR_NONE: none */
/* True: it is not from bus_request(), but from a stock client of NATS. */
bool bus_message_is_plain(const struct bus_message *message);
void bus_message_free(struct bus_message *message);

enum bus_reply_kind { BUS_REPLY, BUS_NO_RESPONDERS };

/* Called on the owner's thread from within bus_process(), bus_changed() or bus_wait(); may send
   further requests. `message` is the callee's for BUS_REPLY and NULL for BUS_NO_RESPONDERS. */
typedef void (*bus_reply_fn)(void *closure, uint64_t handle, enum bus_reply_kind kind,
                             struct bus_message *message);
/* Whether the reply to a request is still awaited. Called from time to time on the owner's thread,
   as the bus has no timeouts. Once none of a bundle's replies is awaited, the bus stops listening
   for them; until then one that is not awaited is still passed on. */
typedef bool (*bus_awaited_fn)(void *closure, uint64_t handle);

/* Called on a nats.c thread; during a move perhaps twice for one message. `message` stays the
   bus's. */
typedef void (*bus_notice_fn)(void *closure, struct bus_message *message);

#endif
