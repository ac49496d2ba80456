/*
 * move_room - what both servers need for a move, and why a move is stuck.
 *
 * What     PostgreSQL waits silently if it lacks a worker, a slot or a connection to the other
 *          server, and while a transaction stays open. So the settings are checked beforehand, and
 *          a step that times out reports what it waited for.
 * Threads  One thread.
 * Fails    As move_cells.h, with the setting or the transaction in the message.
 */
#ifndef SERVICES_CONVCTL_MOVE_ROOM_H
#define SERVICES_CONVCTL_MOVE_ROOM_H

#include "services/convctl/move_cells.h"

/* Checks the settings that a move needs in both databases, before anything is done. */
MUST_CHECK enum status move_expect_room(struct move *move, const char *org);

/* The state of a copy, as last seen. */
struct move_progress {
    char seen[64]; /* "": not seen yet */
    int64_t since_us;
};

/* `now` differs from the last call as long as the copy makes progress. False: no progress for
   move->give_up_s. */
bool move_comes_on(struct move *move, struct move_progress *progress, const char *now);

/* Fills the failure with the likely reason why changes do not arrive, by the latest
   READ_FOLLOWING. */
enum status move_failed_standing(struct move *move);

/* Creates the slot, and has the old cell's bulk connection see the rows as of then, until
   move_let_go(). PostgreSQL first waits for all transactions that have written in the old cell's
   server; this gives up if one of them takes longer than move->give_up_s. */
MUST_CHECK enum status move_create_slot(struct move *move, const char *org);

#endif
