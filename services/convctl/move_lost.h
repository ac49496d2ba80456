/*
 * move_lost - ends a move in the old cell when the new cell's database is lost for good.
 *
 * What     Opens the organization again, and drops its slot and publication, so that no
 *          write-ahead log is kept for them. Safe to repeat.
 * Threads  One thread.
 * Fails    As move_cells.h.
 */
#ifndef SERVICES_CONVCTL_MOVE_LOST_H
#define SERVICES_CONVCTL_MOVE_LOST_H

#include "services/convctl/move_cells.h"

MUST_CHECK enum status move_end_alone(struct move *move, const char *org);

/* Describes what the new cell still has, in case its database comes back; in move->arena. */
const char *move_left_there(struct move *move);

#endif
