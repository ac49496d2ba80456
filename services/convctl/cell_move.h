/*
 * cell_move - moves an organization from one cell to another while it is served.
 *
 * What     Copies the organization's rows; then PostgreSQL's logical replication follows their
 *          changes (move_copy.h). The functions for this in both databases are in
 *          common/cell/migrations/0001_cell.sql. Then the organization is closed for a moment:
 *          its commands are refused with 503, which clients retry, until the new cell has the last
 *          change (move_close.h) and the directory names the new cell. The rows in the old cell are
 *          compared and, after a grace period, deleted. The directory records the progress of the
 *          move (access.moves). The same call, made again, continues from there. If nobody
 *          continues, the audit service opens a closed organization again after 10 seconds. What is
 *          waited for while it is closed has a time limit; if the new cell cannot be opened, the old
 *          one is again, unless a server has stopped answering, or the new cell is open and the
 *          directory cannot record that: then the same call must be made again. Until the
 *          directory has recorded the switch, the move can be aborted, and nothing of it remains in
 *          the new cell. If the new cell's database is lost, the move can be aborted without it until
 *          the directory has switched (move_lost.h).
 * Threads  One thread.
 * Shows    Its steps on standard error, if that is a terminal.
 * Fails    ST_REFUSED, with `failure` filled; its code is "usage" if `body` makes no sense.
 */
#ifndef SERVICES_CONVCTL_CELL_MOVE_H
#define SERVICES_CONVCTL_CELL_MOVE_H

#include "proto/subject.h"
#include "services/convctl/bus_client.h"

/* The first of several commands that a move sends. */
#define CELL_MOVE_SUBJECT SUBJECT_ACCESS_MOVE_GET

/* `body` has `to`, a cell, or `abort`; `grace` and `give_up`, in seconds; and `unchecked` (see
   --help). `databases` lists the cells' databases with their administrators' access: NAME=URL,
   separated by spaces. */
MUST_CHECK enum status cell_move(const struct bus_client_request *request, const json_t *body,
                                 const char *databases, struct arena *arena, struct str *answer,
                                 struct convctl_failure *failure);

#endif
