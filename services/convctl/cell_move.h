/*
 * cell_move - moves an organization from one cell to another one while it is served.
 *
 * What     PostgreSQL's logical replication copies its rows and follows what changes; the functions that this
 *          needs in both databases are in services/audit/migrations/0016_moving.sql. Then the organization is
 *          closed: its commands are refused with 503, which clients repeat, until what the other cell has was
 *          compared and the directory says that it is there. What it had in the old cell is deleted after a
 *          grace.
 *          The directory keeps how far the move is (access.moves). The same call, made again, goes on from
 *          there; what was closed opens by itself after 10 seconds where nobody goes on. Until the
 *          directory has noted that it goes over, the move can be aborted, and nothing is left of it there; without
 *          the other cell's database, which is lost, until the directory has switched (move_lost.h).
 * Threads  One thread.
 * Shows    Its steps on standard error, where that is a terminal.
 * Fails    ST_REFUSED, with `failure` filled; its code is "usage" where `body` cannot be meant.
 */
#ifndef SERVICES_CONVCTL_CELL_MOVE_H
#define SERVICES_CONVCTL_CELL_MOVE_H

#include "proto/subject.h"
#include "services/convctl/bus_client.h"

/* The first of several commands that it sends. */
#define CELL_MOVE_SUBJECT SUBJECT_ACCESS_MOVE_GET

/* `body` has `to`, the cell; or `abort`; `grace` and `give_up`, in seconds; `unchecked` (--help). `databases` says
   where cells' databases are, for their administrators: NAME=URL, with blanks between them. */
MUST_CHECK enum status cell_move(const struct bus_client_request *request, const json_t *body,
                                 const char *databases, struct arena *arena, struct str *answer,
                                 struct convctl_failure *failure);

#endif
