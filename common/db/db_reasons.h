/*
 * db_reasons - why attempts to connect fail, for the log and /readyz. Private to common/db.
 *
 * What     Collects the reasons of a round of attempts (db_hosts.h), and logs them together at its
 *          end: those of the first round that fails, then every 10 seconds, until one succeeds.
 * Owns     Copies of libpq's texts.
 * Threads  The link's.
 * Fails    Never; reasons that are too long are cut off.
 */
#ifndef COMMON_DB_DB_REASONS_H
#define COMMON_DB_DB_REASONS_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/db/db_hosts.h"

struct db_reasons {
    char text[512], sqlstate[6];
    const char *statement; /* the first one among the reasons; NULL: none */
    /* What a session lacked, in this round and in the last one; NULL: nothing. */
    const char *objection, *trouble;
    int64_t next_complaint_us; /* by clock_mono_us() */
};

/* Adds a message of libpq's, which names the server. Only its first line: it may have several. */
void db_reasons_add(struct db_reasons *reasons, const char *message);
/* Adds a reason of ours, and names the current host as libpq does. `conn` is NULL while its name is
   looked up. */
void db_reasons_add_ours(struct db_reasons *reasons, const struct db_hosts *hosts,
                         const PGconn *conn, const char *why);
/* Call before adding the message: the server refuses a statement. */
void db_reasons_note_statement(struct db_reasons *reasons, const char *statement,
                               const PGresult *result);
/* What the session with a host lacks (db_session.h); NULL: nothing. */
void db_reasons_note_objection(struct db_reasons *reasons, const char *objection);

/* Call when all hosts have failed. */
void db_reasons_end_round(struct db_reasons *reasons, const struct db_hosts *hosts);
/* Call when a connection is up: nothing is wrong. */
void db_reasons_clear(struct db_reasons *reasons);
/* What was wrong in the last round, a constant text. */
const char *db_reasons_trouble(const struct db_reasons *reasons, const struct db_hosts *hosts);

/* Whether 10 seconds have passed since the last complaint; if so, this is one. */
bool db_reasons_may_complain(struct db_reasons *reasons);

#endif
