/*
 * db_link - a connection in pipeline mode, and the statements that are prepared on it. Private to
 * common/db.
 *
 * What     db_dialer.h makes the connection and drops it; in between, this waits on it and reads from
 *          it. The statements are those of the registry, and our own after them.
 * Owns     The PGconn, and the text of LINK_SET.
 * Threads  One thread owns a link.
 * Fails    ST_UNAVAILABLE: the socket has ended, or nothing came in time.
 */
#ifndef COMMON_DB_DB_LINK_H
#define COMMON_DB_DB_LINK_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/db/db_types.h"

/* Our own statements, numbered after the registry's. If is_pooled, LINK_SET follows each LINK_BEGIN. */
enum link_statement { LINK_BEGIN, LINK_SET, LINK_COMMIT, LINK_ROLLBACK, LINK_STATEMENTS };

struct db_link {
    struct db_options options;
    struct db_statement own[LINK_STATEMENTS];
    PGconn *conn;   /* NULL: there is none, not even an attempt at one */
    bool is_up;     /* its statements are prepared */
    bool is_pooled; /* the server's session may be another one in each transaction: db_session.h */
    bool is_dead;   /* the socket has ended; what was read before can still be used */
};

void db_link_init(struct db_link *link, const struct db_options *options);
void db_link_release(struct db_link *link); /* not the connection */

/* Begins to prepare a new connection: sends the preparation of the query for the settings
   (db_session.h) and the query, then the preparation and the description of each statement, and a
   Sync. False: it is lost. */
bool db_link_prepare(struct db_link *link);
void db_link_close(struct db_link *link); /* without a connection it does nothing */

/* Writes the queue and waits for something to read, at most until `until_us` (by clock_mono_us()).
   ST_OK means: check again. If the socket has ended, returns ST_OK and sets is_dead. */
enum status db_link_wait(struct db_link *link, int64_t until_us);

/* The next result, or NULL at the end of a statement. */
enum status db_link_next(struct db_link *link, int64_t until_us, PGresult **out);

/* Between batches: true if the server has neither closed the link nor announced it. */
bool db_link_is_alive(struct db_link *link);

/* From the registry, or one of our own after it. */
const struct db_statement *db_link_statement_at(const struct db_link *link, size_t i);
/* The number of one of our own statements, and the server-side name of any. */
int db_link_statement(const struct db_link *link, enum link_statement statement);
const char *db_link_statement_name(const struct db_link *link, int statement);

/* Whether the result has exactly those columns (struct db_statement). False: `why` has the first
   difference. */
bool db_columns_are(const PGresult *result, const char *columns, char why[256]);

/* Waits for a descriptor (-1: for none) and kicks the watchdog. > 0: look at it; 0: the time is
   over. */
int db_link_poll(int fd, short events, int64_t until_us);

#endif
