/*
 * batch - statements on their way through a link, their results, and how they failed. Private to
 * common/db.
 *
 * What     The server reads in order: an error about one of our statements proves that it never
 *          got to a Sync behind it. The first failure is kept; what follows is its consequence.
 * Owns     The results, until batch_clear(). Memory is reused from batch to batch.
 * Threads  The link's.
 */
#ifndef COMMON_DB_BATCH_H
#define COMMON_DB_BATCH_H

#include "common/db/db_link.h"

struct batch_entry {
    int statement; /* in the registry; n_statements is our own rollback */
    PGresult *result;
};

struct batch {
    struct db_link *link;
    int64_t until_us; /* no wait is longer; by clock_mono_us() */
    struct batch_entry *entries;
    size_t n, room;
    size_t n_collected; /* entries whose results have been read */

    enum status failed;   /* ST_OK = it has not */
    int failed_statement; /* -1 = none in particular */
    char sqlstate[6];

    /* NUL-terminated copies of one statement's parameters. */
    char *text;
    size_t text_room;
    const char **values;
    size_t values_room;
};

void batch_clear(struct batch *batch);
void batch_release(struct batch *batch);

void batch_fail(struct batch *batch, enum status st);
/* Hands a statement to libpq. After a failure it does nothing. */
void batch_send(struct batch *batch, int statement, const db_param *params, size_t n);
/* Reads the results of everything sent so far. False: the link is of no further use. */
bool batch_collect(struct batch *batch);
/* Reads up to the end of the pipeline, after a Sync. False: as before. An error that comes here is
   the commit's own, such as a deferred constraint. */
bool batch_await_sync(struct batch *batch);

#endif
