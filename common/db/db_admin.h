/*
 * db_admin - one plain connection to PostgreSQL for programs that change the schema.
 *
 * What     Statements and whole scripts run one after another. Nothing is prepared or pipelined;
 *          services use db.h. It is in this folder so that all use of libpq is in one place.
 * Owns     Free the connection with db_admin_free(). The rows of a query and the text of an error
 *          live until the next call.
 * Threads  One thread owns a connection.
 * Fails    ST_UNAVAILABLE: the server is unreachable, the link is lost, or no answer came in time.
 *          ST_INTERNAL: the server refused the statement; db_admin_error() and db_admin_sqlstate()
 *          have the reason.
 */
#ifndef COMMON_DB_DB_ADMIN_H
#define COMMON_DB_DB_ADMIN_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/db/db.h"

struct db_admin;

enum { DB_ADMIN_WHY = 1024 };

/* Makes one attempt, with `timeout_s` for each host of the URL. If that has no
   target_session_attrs, the server must take writes. ST_INTERNAL: the URL cannot be parsed, a pooler
   is in between, or the database is unusable as it is, for example because its encoding is not UTF8
   (db_session.h). On failure writes to `error` the reason, of each address that was tried; it never
   contains the password. */
MUST_CHECK enum status db_admin_open(const char *url, const char *name, int timeout_s,
                                     struct db_admin **out, char error[DB_ADMIN_WHY]);
/* The same for a connection that takes replication commands. They and statements run as scripts
   only. */
MUST_CHECK enum status db_admin_open_sender(const char *url, const char *name, int timeout_s,
                                            struct db_admin **out, char error[DB_ADMIN_WHY]);
void db_admin_free(struct db_admin *admin); /* NULL is fine */

/* Limits the time that scripts and queries wait for their answers; 0 = none, as at first. After one
   that came too late, the connection can only be freed; what it was to do may be done yet. */
void db_admin_limit(struct db_admin *admin, int limit_ms);

/* Runs a script of any number of statements. The rows are those of the last one. */
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

/* Begins to read rows with a COPY TO STDOUT in text format. Until db_admin_copy() has reached the
   end, the connection can do nothing else. */
MUST_CHECK enum status db_admin_copy_begin(struct db_admin *from, const char *copy_out);
/* Copies the next rows in one transaction of the other connection, by `copy_in`, a COPY FROM STDIN in
   text format: up to `rows_max` rows, or fewer, if `span_us` are over. *rows: how many; 0 at the end.
   If it fails, none of them is copied, *failed is the connection that it failed on, and `from` can
   only be freed. */
MUST_CHECK enum status db_admin_copy(struct db_admin *from, struct db_admin *to,
                                     const char *copy_in, size_t rows_max, int64_t span_us,
                                     size_t *rows, struct db_admin **failed);

/* The rows of the last query. A SQL NULL is NULL. */
size_t db_admin_rows(const struct db_admin *admin);
const char *db_admin_value(const struct db_admin *admin, size_t row, int column);

/* Why the last call failed, in one line. */
const char *db_admin_error(const struct db_admin *admin);
const char *db_admin_sqlstate(const struct db_admin *admin); /* "" when no answer came */

/* The SCRAM verifier of a role's password, so that the password itself is never sent to the server.
   From malloc; NULL: the server's password settings cannot be read. */
char *db_admin_verifier(struct db_admin *admin, const char *role, const char *password);

#endif
