/*
 * db_admin - one plain connection to PostgreSQL for programs that change the schema.
 *
 * What     Statements run one after another, whole scripts included. Nothing is prepared, nothing
 *          is pipelined: services use db.h. It shares the folder so that libpq keeps one home.
 * Owns     db_admin_open() gives a connection that db_admin_free() takes back. The rows of a
 *          query and the text of an error live until the next call.
 * Threads  One thread owns a connection.
 * Fails    ST_UNAVAILABLE when the server is unreachable or the link is lost; ST_INTERNAL when the
 *          server refuses the statement: db_admin_error() and db_admin_sqlstate() say why.
 */
#ifndef COMMON_DB_DB_ADMIN_H
#define COMMON_DB_DB_ADMIN_H

#include <stddef.h>

#include "common/base/status.h"
#include "common/db/db.h"

struct db_admin;

/* One attempt, with so much time for each host of the URL; where that has no target_session_attrs,
   the server must take writes. On failure writes a sentence to `error` that never holds the password. */
MUST_CHECK enum status db_admin_open(const char *url, const char *name, int timeout_s,
                                     struct db_admin **out, char error[256]);
void db_admin_free(struct db_admin *admin); /* NULL is fine */

/* Runs a script of any number of statements; its rows are dropped. */
MUST_CHECK enum status db_admin_script(struct db_admin *admin, const char *text);
/* Runs one statement with bound parameters in text format; a NULL is SQL NULL. ST_INTERNAL also when
   it returns other columns than it names. */
MUST_CHECK enum status db_admin_query(struct db_admin *admin, const struct db_statement *statement,
                                      const char *const *params, size_t n);

/* The same in two steps, for servers that are to work at the same time: every call that sends well is followed by
   one that waits for the answer, with nothing in between on that connection. */
MUST_CHECK enum status db_admin_send(struct db_admin *admin, const struct db_statement *statement,
                                     const char *const *params, size_t n);
MUST_CHECK enum status db_admin_receive(struct db_admin *admin,
                                        const struct db_statement *statement);

/* The rows of the last query. A SQL NULL is NULL. */
size_t db_admin_rows(const struct db_admin *admin);
const char *db_admin_value(const struct db_admin *admin, size_t row, int column);

/* Why the last call failed: one line. */
const char *db_admin_error(const struct db_admin *admin);
const char *db_admin_sqlstate(const struct db_admin *admin); /* "" when the link was lost */

/* The SCRAM verifier of a role's password, so that the server is never sent the password itself.
   From malloc; NULL when the server cannot be asked how it wants it. */
char *db_admin_verifier(struct db_admin *admin, const char *role, const char *password);

#endif
