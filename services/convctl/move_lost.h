/*
 * move_lost - ends a move in the cell that it comes from, where the other cell's database is lost for good.
 *
 * What     The organization is open there again, and its slots and publication have gone, so that no write-ahead log
 *          is kept for it. Safe to repeat.
 * Threads  One thread.
 * Fails    As move_cells.h.
 */
#ifndef SERVICES_CONVCTL_MOVE_LOST_H
#define SERVICES_CONVCTL_MOVE_LOST_H

#include "services/convctl/move_cells.h"

/* Before rows are copied: how slots are named that move_end_alone() drops. */
MUST_CHECK enum status move_note_slots(struct move *move, const char *org);

MUST_CHECK enum status move_end_alone(struct move *move, const char *org);

/* What is in the other cell still, should its database come back; in move->arena. */
const char *move_left_there(struct move *move);

#endif
