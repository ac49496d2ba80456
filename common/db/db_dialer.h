/*
 * db_dialer - makes the connection of a link, and drops it. Private to common/db.
 *
 * What     An attempt to connect is driven in steps and outlives the call that began it, so that
 *          a caller that can wait only briefly still connects. It ends with all statements prepared.
 *          Each host, and each address of its name, has its own attempt (db_hosts.h). The name is
 *          looked up here, since libpq would block for as long as the name servers are silent.
 *          Rounds of attempts are spaced; db_reasons.h logs why they fail.
 *          The URL is read again for each attempt (config_current()), so that a renewed password is
 *          in force from the next connection on.
 * Owns     What the link has, the lookup, the hosts and the text of the URL.
 * Threads  The link's.
 * Fails    ST_UNAVAILABLE: not connected yet. Only a host that is named elsewhere than in the URL
 *          (PGHOST, a service file) is looked up by libpq, without a time limit.
 */
#ifndef COMMON_DB_DB_DIALER_H
#define COMMON_DB_DB_DIALER_H

#include "common/db/db_hosts.h"
#include "common/db/db_link.h"
#include "common/db/db_reasons.h"
#include "common/net/lookup.h"

/* Of an attempt; DIALER_RESTS: there is none, or the link is up. */
enum db_dialer_phase { DIALER_RESTS, DIALER_LOOKS_UP, DIALER_CONNECTS, DIALER_PREPARES };

struct db_dialer {
    struct db_link *link;
    char *url; /* its text now */
    struct db_hosts hosts;
    struct db_reasons reasons;
    enum db_dialer_phase phase;
    struct lookups *lookups;           /* while looking up */
    bool has_looked_up;                /* the answer is there */
    PostgresPollingStatusType polling; /* what libpq waits for while connecting */
    /* So far: two for the settings, prepare and query, then two for each statement, prepare and
       describe. */
    size_t n_replies;
    int64_t attempt_ends_us, next_attempt_us; /* by clock_mono_us() */
};

/* The URL of the link's options must be sound. */
void db_dialer_init(struct db_dialer *dialer, struct db_link *link);
void db_dialer_release(struct db_dialer *dialer); /* closes the link, too */

/* Continues connecting until `until_us` (by clock_mono_us()) at most. */
enum status db_dialer_connect(struct db_dialer *dialer, int64_t until_us);
/* Why there is no connection, a constant text. */
const char *db_dialer_trouble(const struct db_dialer *dialer);

/* What to poll, and for what; -1 while there is nothing to wait for. */
int db_dialer_socket(const struct db_dialer *dialer);
short db_dialer_events(const struct db_dialer *dialer);

/* Closes the link or the attempt; logs the reason if the link was up. */
void db_dialer_drop(struct db_dialer *dialer, const char *why);

#endif
