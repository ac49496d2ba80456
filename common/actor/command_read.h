/*
 * command_read - makes a command of a message, by its headers (proto/headers.h).
 *
 * Owns     What is read lives in the message and the arena.
 * Threads  The actor's.
 */
#ifndef COMMON_ACTOR_COMMAND_READ_H
#define COMMON_ACTOR_COMMAND_READ_H

#include "common/actor/batch.h"

/* A message's deadline by clock_mono_us(); 0: it is malformed. */
int64_t command_until_us(struct bus_message *message, int64_t received_us, int64_t since_us);
/* False (logged): a header is missing or malformed. */
bool command_read(struct waiting *from, struct arena *arena, struct batch_item *item);

#endif
