/*
 * result - what PostgreSQL's error codes mean for the caller of a statement. The readers of rows, which
 * are in db.h, are in its .c file.
 *
 * Threads  Any; pure functions.
 */
#ifndef COMMON_DB_RESULT_H
#define COMMON_DB_RESULT_H

#include <stdbool.h>

#include "common/base/status.h"

/* ST_RETRY: lost a race; ST_UNAVAILABLE: the server cannot serve now; ST_INTERNAL: anything else.
 */
enum status sqlstate_status(const char *sqlstate);

/* The connection is of no further use, although the socket may still look sound: the server is
   going away, has become read-only, or no longer knows what was prepared. */
bool sqlstate_ends_link(const char *sqlstate);

#endif
