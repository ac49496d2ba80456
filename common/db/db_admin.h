/*
 * db_admin - one plain connection to PostgreSQL for programs that change the schema.
 *
 * What     Statements and whole scripts run one after another. Nothing is prepared or pipelined;
 *          services use db.h. It is in this folder so that all use of libpq is in one place.
 * Owns     Free the connection with db_admin_free(). The rows of a query and the text of an error
 *          live until the next call.
 * Threads  One thread owns a connection.
 * Fails    ST_UNAVAILABLE: the server is unreachable or the link is lost. ST_INTERNAL: the server
 *          refused the statement; db_admin_error() and db_admin_sqlstate() have the reason.
 */
#ifndef COMMON_DB_DB_ADMIN_H
#define COMMON_DB_DB_ADMIN_H

#include <stddef.h>

#include "common/base/status.h"
#include "common/db/db.h"

struct db_admin;

enum { DB_ADMIN_WHY = 1024 };

/* Makes one attempt, with `timeout_s` for each host of the URL. If that has no
   target_session_attrs, the server must take writes. ST_INTERNAL: the URL cannot be parsed, or the
   database is unusable as it is, for example because its encoding is not UTF8 (db_session.h). On
   failure writes to `error` the reason, of each address that was tried; it never contains the
   password. */
MUST_CHECK enum status db_admin_open(const char *url, const char *name, int timeout_s,
                                     struct db_admin **out, char error[DB_ADMIN_WHY]);
void db_admin_free(struct db_admin *admin); /* NULL is fine */

/* Runs a script of any number of statements; its rows are dropped. */
MUST_CHECK enum status db_admin_script(struct db_admin *admin, const char *text);
/* Runs one statement with bound parameters in text format; NULL is SQL NULL. Also ST_INTERNAL if it
   returns other columns than it names. */
MUST_CHECK enum status db_admin_query(struct db_admin *admin, const struct db_statement *statement,
                                      const char *const *params, size_t n);

/* The same in two steps, so that several servers can work at the same time: after each successful
   send, the next call on that connection must be the receive. */
MUST_CHECK enum status db_admin_send(struct db_admin *admin, const struct db_statement *statement,
                                     const char *const *params, size_t n);
MUST_CHECK enum status db_admin_receive(struct db_admin *admin,
                                        const struct db_statement *statement);

/* The rows of the last query. A SQL NULL is NULL. */
size_t db_admin_rows(const struct db_admin *admin);
const char *db_admin_value(const struct db_admin *admin, size_t row, int column);

/* Why the last call failed, in one line. */
const char *db_admin_error(const struct db_admin *admin);
const char *db_admin_sqlstate(const struct db_admin *admin); /* "" when the link was lost */

/* The SCRAM verifier of a role's password, so that the password itself is never sent to the server.
   From malloc; NULL: the server's password settings cannot be read. */
char *db_admin_verifier(struct db_admin *admin, const char *role, const char *password);

#endif
