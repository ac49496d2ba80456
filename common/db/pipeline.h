/*
 * pipeline - statements in flight on a connection, their results, and their failure. Private to
 * common/db.
 *
 * What     The server reads in order: an error about one of our statements proves that it never
 *          ran a COMMIT after it. The first failure is kept; later ones are its consequences.
 * Owns     The results, until pipeline_clear(). Memory is reused from batch to batch.
 * Threads  The link's.
 */
#ifndef COMMON_DB_PIPELINE_H
#define COMMON_DB_PIPELINE_H

#include "common/db/db_link.h"
#include "common/db/params.h"

struct pipeline_entry {
    int statement;    /* its number in the registry, or one of our own: db_link_statement() */
    size_t bytes_max; /* the pipeline's bytes_max when it was sent */
    PGresult *result;
    size_t dropped; /* bytes of a result that was not kept */
};

struct pipeline {
    struct db_link *link;
    int64_t until_us; /* when every wait ends, by clock_mono_us() */
    struct pipeline_entry *entries;
    size_t n, capacity;
    size_t n_collected; /* entries whose results have been read */
    bool is_lost;       /* the link can no longer be used */
    size_t bytes;       /* of the results that are kept */
    size_t bytes_max;   /* beyond this, statements sent from now on are spare; 0 = none are */

    enum status failed; /* ST_OK = it has not */
    /* Its index in entries; DB_NO_ENTRY = none in particular, or one of our own. */
    size_t failed_entry;
    int failed_statement; /* -1 = likewise */
    char sqlstate[6];

    /* Copies of one statement's parameters, each followed by a NUL. */
    char *text;
    size_t text_capacity;
    const char *values[PARAMS_MAX];
    int lengths[PARAMS_MAX], formats[PARAMS_MAX]; /* libpq uses the lengths of binary values only */
};

void pipeline_clear(struct pipeline *pipeline);
void pipeline_release(struct pipeline *pipeline);

void pipeline_fail(struct pipeline *pipeline, enum status st);
/* Hands a statement to libpq. After a failure it does nothing. */
void pipeline_send(struct pipeline *pipeline, int statement, const struct params *params,
                   bool has_binary_rows);
/* Reads the results that have arrived, without blocking. True: there is nothing more to wait for,
   because all have been read or the link is lost. */
bool pipeline_read(struct pipeline *pipeline);
/* Reads the results of everything sent so far. False: the link can no longer be used. */
bool pipeline_collect(struct pipeline *pipeline);
/* Reads up to the reply to a Sync. False: the link can no longer be used. */
bool pipeline_await_sync(struct pipeline *pipeline);

#endif
