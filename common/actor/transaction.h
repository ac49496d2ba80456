/*
 * transaction - runs commands of a batch as one transaction.
 *
 * What     transaction_begin() parses the commands and sends their statements; each
 *          transaction_advance() reads what the server has answered, and sends what follows. The
 *          batch's phase says what was sent last; BATCH_IDLE: the commands are committed, and every
 *          status is ST_OK, ST_REFUSED or ST_RETRY (wrote nothing, has no entry, must run again).
 *          What goes over the wire, in one transaction:
 *
 *            1  BEGIN; if a command has been put back before, a shorter lock_timeout for all
 *            2  the `query` hooks' statements, in lock order; then each `query_together` hook's, in
 *               the order of the service's handlers
 *            3  what the `query_rest` hooks add, if anything, in a second round trip
 *            4  after the reply hooks: the audit entries, the changes, COMMIT
 *
 * Owns     Everything lives in the batch's arena.
 * Threads  The actor's.
 * Fails    After anything but ST_OK nothing is written, unless ST_UNCERTAIN, and the items that may
 *          have caused it are marked as suspects, at least one while the link is up.
 */
#ifndef COMMON_ACTOR_TRANSACTION_H
#define COMMON_ACTOR_TRANSACTION_H

#include "common/actor/batch.h"

/* Sorts the items in lock order. */
enum status transaction_begin(struct batch *batch, struct batch_item **items, size_t n);
/* Does not block once db_is_ready(). */
enum status transaction_advance(struct batch *batch);

#endif
