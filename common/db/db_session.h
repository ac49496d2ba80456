/*
 * db_session - what a session with the database must be like. Private to common/db.
 *
 * What     Settings of the server, the database or the role that change results are of two kinds.
 *          Some we set at login, which has precedence over all of these and over the URL. Others the
 *          administrator must change. All are checked after login, since a pooler in between may
 *          drop what we set. The timeouts of locks and statements are not: without them, the
 *          deadline of a batch ends its waits.
 * Owns     The texts are from malloc(); the caller frees them.
 * Threads  Any; pure, but for db_session_show_certificates().
 * Fails    Never.
 */
#ifndef COMMON_DB_DB_SESSION_H
#define COMMON_DB_DB_SESSION_H

#include <libpq-fe.h>

#include "common/db/db_types.h"

/* Defaults, which the URL may override: how soon we notice that the server's machine or the network
   is gone, during a statement and between two. */
#define LINK_LOSS_KEYS                                                                             \
    "tcp_user_timeout", "keepalives_idle", "keepalives_interval", "keepalives_count"
#define LINK_LOSS_VALUES     LINK_USER_TIMEOUT_MS, "5", "2", "3"
#define LINK_USER_TIMEOUT_MS "8500"

enum { DB_SESSION_WHY = 256 };

/* The value of libpq's key "options": how soon a lost client is noticed, the timeouts of a service's
   session (NULL: none), what the URL has, and what must be; the later has precedence. The URL must be
   sound. */
char *db_session_options(const char *url, const struct db_options *timeouts);

/* A statement without parameters, whose only row has the settings. */
char *db_session_query(void);

/* Of that row as text. NULL: the session can be used. Otherwise a constant text for /readyz; `why`
   also has the value found and what to do. */
const char *db_session_objection(const PGresult *row, char why[DB_SESSION_WHY]);

/* When the certificates of a connection that has just been made expire, for the metrics: the
   server's, and those in the files that libpq has read; nothing without TLS. */
void db_session_show_certificates(PGconn *conn);

#endif
