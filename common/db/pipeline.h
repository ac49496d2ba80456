/*
 * pipeline - statements on their way through a connection, their results, and how they failed.
 * Private to common/db.
 *
 * What     The server reads in order: an error about one of our statements proves that it never
 *          got to a COMMIT behind it. The first failure is kept; what follows is its consequence.
 * Owns     The results, until pipeline_clear(). Memory is reused from batch to batch.
 * Threads  The link's.
 */
#ifndef COMMON_DB_PIPELINE_H
#define COMMON_DB_PIPELINE_H

#include "common/db/db_link.h"

struct pipeline_entry {
    int statement;    /* in the registry, or behind it: db_link_statement() */
    size_t bytes_max; /* as of the batch when it was sent */
    PGresult *result;
    size_t dropped; /* bytes of a result that was not kept */
};

struct pipeline {
    struct db_link *link;
    int64_t until_us; /* no wait is longer; by clock_mono_us() */
    struct pipeline_entry *entries;
    size_t n, capacity;
    size_t n_collected; /* entries whose results have been read */
    bool is_lost;       /* the link is of no further use */
    size_t bytes;       /* of the results that are kept */
    size_t bytes_max;   /* statements sent from now on are spare beyond it; 0 = they are not */

    enum status failed;   /* ST_OK = it has not */
    size_t failed_entry;  /* its place in entries; DB_NO_ENTRY = none in particular, or our own */
    int failed_statement; /* -1 = likewise */
    char sqlstate[6];

    /* Copies of one statement's parameters, each with a NUL behind it. */
    char *text;
    size_t text_capacity;
    const char **values;
    int *lengths, *formats; /* libpq looks at lengths of binary values alone */
    size_t values_capacity;
};

void pipeline_clear(struct pipeline *pipeline);
void pipeline_release(struct pipeline *pipeline);

void pipeline_fail(struct pipeline *pipeline, enum status st);
/* Hands a statement to libpq. After a failure it does nothing. */
void pipeline_send(struct pipeline *pipeline, int statement, const db_param *params, size_t n,
                   uint32_t binary);
/* Reads the results that are there, without waiting. True: there is nothing more to wait for,
   because all are there or the link is lost. */
bool pipeline_read(struct pipeline *pipeline);
/* Reads the results of everything sent so far. False: the link is of no further use. */
bool pipeline_collect(struct pipeline *pipeline);
/* Reads up to the answer to a Sync. False: as before. */
bool pipeline_await_sync(struct pipeline *pipeline);

#endif
