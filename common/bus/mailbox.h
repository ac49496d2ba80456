/*
 * mailbox - the messages that have come for a subscription of bus_serve().
 *
 * Owns     A mailbox belongs to its bus; a message that is taken is the caller's.
 * Threads  The bus' owner's.
 */
#ifndef COMMON_BUS_MAILBOX_H
#define COMMON_BUS_MAILBOX_H

#include <stdbool.h>
#include <stddef.h>

struct bus_mailbox;
struct bus_message;

/* The oldest waiting message, or NULL. Never blocks. */
struct bus_message *bus_take(struct bus_mailbox *mailbox);
size_t bus_waiting(struct bus_mailbox *mailbox);
/* Stops messages from being routed here. Those that wait or are in flight can still be taken: keep
   processing until bus_is_drained(), which takes 5 s at most. Holds for later links, too. */
void bus_stop_serving(struct bus_mailbox *mailbox);
bool bus_is_drained(struct bus_mailbox *mailbox);
/* Subscribes again after bus_stop_serving(); messages not taken by then are lost. */
void bus_serve_again(struct bus_mailbox *mailbox);

#endif
