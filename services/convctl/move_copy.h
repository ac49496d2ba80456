/*
 * move_copy - the rows of an organization come to be the same in two cells, and stay so.
 *
 * What     Copied and followed by a subscription; then the organization is closed in its cell, which lasts below two
 *          seconds, and compared with what the other one has.
 * Threads  One thread.
 * Fails    As move_cells.h. Where closing fails, the organization is served as before.
 */
#ifndef SERVICES_CONVCTL_MOVE_COPY_H
#define SERVICES_CONVCTL_MOVE_COPY_H

#include "services/convctl/move_cells.h"

/* Rows that are compared one by one while it is closed; of more, only how many there are in each table. */
#define MOVE_EXACT_MAX 100000

/* Of the latest READ_CELL of the cell that it goes to: the rows there are those of a move, and not a copy that was
   served. */
bool move_has_brought(const struct move *move);
MUST_CHECK enum status move_begin_copying(struct move *move, const char *org);
/* However long it takes, as long as it comes on and does not fail again and again. */
MUST_CHECK enum status move_await_copy(struct move *move, const char *org);
/* move->rows: how many it has. */
MUST_CHECK enum status move_close(struct move *move, const char *org);

/* The same in both; *rows: of the first cell. */
MUST_CHECK bool move_compare(struct move *move, const char *org, bool is_exact,
                             struct db_admin *from, struct db_admin *to, int64_t *rows);
/* The moment at which it was closed is not looked at any more. */
void move_let_go(struct move *move);

#endif
