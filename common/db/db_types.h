/*
 * db_types - what a db is made with, and what its parts share.
 *
 * Threads  Data only.
 */
#ifndef COMMON_DB_DB_TYPES_H
#define COMMON_DB_DB_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct db_statement {
    const char *name; /* of the .sql file, without its ending */
    const char *text;
    /* The names of the columns that it returns, separated by spaces; NULL = none. */
    const char *columns;
};

struct db_options {
    /* libpq conninfo or postgresql:// URI, of one host or several; never logged */
    const char *url;
    const char *name; /* application_name: service and replica */
    const struct db_statement *statements;
    size_t n_statements;
    /* Called from time to time while a batch waits for the server, on the waiting thread; may do
       anything but use the db. NULL = nothing. */
    void (*on_wait)(void *closure);
    void *closure;
    int lock_ms; /* how long a statement waits for a lock (ST_RETRY); 0 = until its own timeout */
    int statement_ms; /* how long a statement may take (ST_UNAVAILABLE); 0 = 10 s */
    /* If the URL has no target_session_attrs: accept a server that takes no writes */
    bool may_be_standby;
};

#define DB_EPOCH_US INT64_C(946684800000000) /* 2000-01-01, in Unix microseconds */
/* Bytes of a result that is kept although it is spare: db_add_spare(). */
#define DB_SMALL (64 * 1024)
/* db_last_entry(). */
#define DB_NO_ENTRY SIZE_MAX /* none in particular: the link or the commit failed */

#endif
