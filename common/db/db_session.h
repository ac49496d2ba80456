/*
 * db_session - what a session with the database must be like. Private to common/db.
 *
 * What     Settings of the server, the database or the role that change results are of two kinds.
 *          Some we set at login, which has precedence over all of these and over the URL. Others the
 *          administrator must change. All are checked after login. A pooler in between drops what we
 *          set, and each transaction may run in another of its sessions: so each sets all of it for
 *          itself (db_session_local()), with the timeouts of statements and locks.
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

/* The name under which a service prepares the query for the settings: the query finds out whether the
   server has a statement of that name. */
#define DB_SESSION_STATEMENT "db_settings"

/* A statement without parameters, whose only row has the settings. */
char *db_session_query(void);

/* Of that row as text. NULL: the session can be used. Otherwise a constant text for /readyz; `why`
   also has the value found and what to do. Sets *is_pooled if a pooler is in between; NULL: there
   must be none. */
const char *db_session_objection(const PGresult *row, bool *is_pooled, char why[DB_SESSION_WHY]);
/* The same for an error of libpq's while connecting or preparing that query: NULL unless a pooler is
   the reason. */
const char *db_session_pooler_fault(const char *sqlstate, const char *message);

/* The statement that sets for one transaction what db_session_options() sets for a session, but for
   what concerns the connection itself, and what the URL has. It comes too late for literals, which the
   server reads when it prepares a statement: none of ours depends on a setting. */
#define DB_SESSION_SET "settings"
char *db_session_local(const struct db_options *timeouts);

/* When the certificates of a connection that has just been made expire, for the metrics: the
   server's, and those in the files that libpq has read; nothing without TLS. */
void db_session_show_certificates(PGconn *conn);

#endif
