/*
 * db_link - the connection under a db: making it, waiting on it and dropping it. Private to
 * common/db.
 *
 * What     An attempt to connect is driven in steps and outlives the call that began it, so that
 *          a caller that can wait only briefly still connects. It ends with all statements prepared.
 *          Each host, and each address of its name, has its own attempt (db_hosts.h). The name is
 *          looked up here, since libpq would block for as long as the name servers are silent.
 *          Rounds of attempts are spaced; failures are logged once, then every 10 seconds.
 *          The URL is read again for each attempt (config_current()), so that a renewed password is
 *          in force from the next connection on.
 * Owns     The PGconn, the lookup, the hosts and the text of the URL.
 * Threads  One thread owns a link.
 * Fails    ST_UNAVAILABLE: not connected yet, or no longer. Only a host that is named elsewhere
 *          than in the URL (PGHOST, a service file) is looked up by libpq, without a time limit.
 */
#ifndef COMMON_DB_DB_LINK_H
#define COMMON_DB_DB_LINK_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/db/db_hosts.h"
#include "common/db/db_types.h"
#include "common/net/lookup.h"

/* Our own statements, numbered after the registry's. */
enum link_statement { LINK_BEGIN, LINK_COMMIT, LINK_ROLLBACK, LINK_STATEMENTS };

enum link_phase { LINK_DOWN, LINK_LOOKING_UP, LINK_CONNECTING, LINK_PREPARING, LINK_UP };

struct db_link {
    struct db_options options;
    char *url; /* its text now */
    struct db_hosts hosts;
    struct lookups *lookups; /* while looking up */
    bool has_looked_up;      /* the answer is there */
    /* Why the attempts of this round failed so far, and the first statement among the reasons. */
    char reasons[512], sqlstate[6];
    const char *statement; /* NULL: none */
    /* What a session lacked (db_session.h), in this round and in the last one; NULL: nothing. */
    const char *objection, *trouble;
    PGconn *conn; /* NULL when down */
    enum link_phase phase;
    PostgresPollingStatusType polling; /* what libpq waits for while connecting */
    size_t n_replies; /* so far: the settings, then two for each statement, prepare and describe */
    bool is_dead;     /* the socket has ended; what was read before can still be used */
    /* All by clock_mono_us(). */
    int64_t attempt_ends_us, next_attempt_us, next_complaint_us;
};

/* The URL must be sound. */
void db_link_init(struct db_link *link, const struct db_options *options);
void db_link_release(struct db_link *link);

/* Continues connecting until `until_us` (by clock_mono_us()) at most. */
enum status db_link_connect(struct db_link *link, int64_t until_us);

/* Writes the queue and waits for something to read, at most until `until_us`. ST_OK means: check
   again. If the socket has ended, returns ST_OK and sets is_dead. */
enum status db_link_wait(struct db_link *link, int64_t until_us);

/* The next result, or NULL at the end of a statement. ST_UNAVAILABLE if the socket has ended or
   nothing came in time. */
enum status db_link_next(struct db_link *link, int64_t until_us, PGresult **out);

/* Between batches: true if the server has neither closed the link nor announced it. */
bool db_link_is_alive(struct db_link *link);

/* Whether the result has exactly those columns (struct db_statement). False: `why` has the first
   difference. */
bool db_columns_are(const PGresult *result, const char *columns, char why[256]);

/* From the registry, or one of our own after it. */
const struct db_statement *db_link_statement_at(const struct db_link *link, size_t i);
/* The number of one of our own statements, and the server-side name of any. */
int db_link_statement(const struct db_link *link, enum link_statement statement);
const char *db_link_statement_name(const struct db_link *link, int statement);
/* The query for the settings (db_session.h), then the preparation and the description of each, and
   a Sync. False: the link is lost. */
bool db_link_send_statements(struct db_link *link);

/* Why there is no connection, a constant text. */
const char *db_link_trouble(const struct db_link *link);

/* What to poll, and for what; -1 while there is nothing to wait for. */
int db_link_socket(const struct db_link *link);
short db_link_events(const struct db_link *link);

/* Closes it; logs the reason if the link was up. */
void db_link_drop(struct db_link *link, const char *why);

#endif
