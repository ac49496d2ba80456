/*
 * move_room - what the two servers must have for a move, and why a move stands still.
 *
 * What     PostgreSQL waits without a word where it lacks a worker, a slot or a way to the other server, and where a
 *          transaction stays open. So settings are looked at before, and who waits says what for.
 * Threads  One thread.
 * Fails    As move_cells.h, with the setting or the transaction in the message.
 */
#ifndef SERVICES_CONVCTL_MOVE_ROOM_H
#define SERVICES_CONVCTL_MOVE_ROOM_H

#include "services/convctl/move_cells.h"

/* Before anything is done, of the settings that a move needs in both databases. */
MUST_CHECK enum status move_expect_room(struct move *move, const char *org);

/* What a copy has come to, as it was last seen. */
struct move_progress {
    char seen[64]; /* "": not looked at yet */
    int64_t since_us;
};

/* `now` is another text than before as long as it comes on. False: it has not for move->give_up_s. */
bool move_comes_on(struct move *move, struct move_progress *progress, const char *now);

/* Fills the failure: what the copy seems to wait for. Asks both databases. */
enum status move_failed_standing(struct move *move, const char *org);

/* Waits for all transactions that have written in the old cell's server, for move->give_up_s at most. */
MUST_CHECK enum status move_create_slot(struct move *move, const char *org);

#endif
