/*
 * move_copy - makes the rows of an organization the same in two cells, and keeps them so.
 *
 * What     A subscription copies the rows and follows their changes. Then the organization is
 *          closed in its cell, for less than two seconds, and both copies are compared.
 * Threads  One thread.
 * Fails    As move_cells.h. If closing fails, the organization is served as before.
 */
#ifndef SERVICES_CONVCTL_MOVE_COPY_H
#define SERVICES_CONVCTL_MOVE_COPY_H

#include "services/convctl/move_cells.h"

/* Up to this many rows are compared one by one while the organization is closed; above it, only the
   number of rows in each table. */
#define MOVE_EXACT_MAX 100000

/* By the latest READ_CELL of the new cell: its rows come from a move, and are not a copy that was
   served. */
bool move_has_brought(const struct move *move);
MUST_CHECK enum status move_begin_copying(struct move *move, const char *org);
/* Waits however long it takes, as long as the copy makes progress and does not keep failing. */
MUST_CHECK enum status move_await_copy(struct move *move, const char *org);
/* Sets move->rows, the number of rows. */
MUST_CHECK enum status move_close(struct move *move, const char *org);

/* Whether both cells have the same rows. *rows: the number in the first. */
MUST_CHECK bool move_compare(struct move *move, const char *org, bool is_exact,
                             struct db_admin *from, struct db_admin *to, int64_t *rows);
/* Releases the snapshots of the moment of closing. */
void move_let_go(struct move *move);

#endif
