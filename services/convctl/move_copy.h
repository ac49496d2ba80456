/*
 * move_copy - makes the rows of an organization the same in two cells, and keeps them so.
 *
 * What     The old cell's server makes a replication slot, with a snapshot that its changes follow.
 *          Rows are copied from that snapshot, in the new cell by transactions of half a second: the
 *          seal of everybody there waits for each of them. The copy is compared with the snapshot
 *          before anything follows. Then a subscription applies what has changed since. It is the
 *          record that the rows are there: without it, a copy begins again.
 * Threads  One thread.
 * Fails    As move_cells.h. The organization is served as before.
 */
#ifndef SERVICES_CONVCTL_MOVE_COPY_H
#define SERVICES_CONVCTL_MOVE_COPY_H

#include "services/convctl/move_cells.h"

/* Copies and compares the rows, and begins to follow them, unless an earlier call has. */
MUST_CHECK enum status move_copy(struct move *move, const char *org);
/* Waits until the new cell has all but the last changes, however long it takes, as long as there is
   progress. */
MUST_CHECK enum status move_await_changes(struct move *move, const char *org);
/* Bytes of write-ahead log that the new cell has not confirmed, up to the position `end` or, if NULL,
   the end of the log. Negative: it failed. */
MUST_CHECK int64_t move_lag(struct move *move, const char *org, const char *end);

/* Whether what both bulk connections see is the same. Sets move->rows. */
MUST_CHECK enum status move_compare(struct move *move, const char *org);
/* Removes subscription, slot and publication. Safe to repeat. */
MUST_CHECK enum status move_stop_following(struct move *move, const char *org);
/* Deletes the rows, in short transactions. */
MUST_CHECK enum status move_delete_rows(struct move *move, const struct cell *cell,
                                        const char *org);

#endif
