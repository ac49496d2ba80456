/*
 * sqlstate - what PostgreSQL's error codes mean for a batch and its connection.
 *
 * Threads  Any; pure.
 */
#ifndef COMMON_DB_SQLSTATE_H
#define COMMON_DB_SQLSTATE_H

#include <stdbool.h>

#include "common/base/status.h"

/* ST_RETRY: lost a race; ST_UNAVAILABLE: the server cannot serve now; ST_INTERNAL: anything else.
 */
enum status sqlstate_status(const char *sqlstate);

/* The connection can no longer be used, although the socket may still look healthy: the server is
   going away, has become read-only, or no longer has the prepared statements. */
bool sqlstate_ends_link(const char *sqlstate);

#endif
