/*
 * db - one connection to PostgreSQL in pipeline mode. The only user of libpq-fe.h.
 *
 * What     The unit of work is a batch: statements are queued, run together in one round trip, and
 *          committed together, in one transaction. BEGIN goes out with the first statement, COMMIT
 *          with db_commit(). If a statement fails, the whole batch is rolled back.
 *
 *              db_open_batch(db, deadline);
 *              i = db_add(db, SQL_READ_CONVERSATIONS, params, n); queue as many as there are
 *              st = db_run(db);                                   one round trip, then results
 *              rows = db_result(db, i);
 *              j = db_add(db, ...); st = db_run(db);              another round trip, if needed
 *              st = db_commit(db);                                one commit for all of it
 *
 *          Statements queued after the last db_run() go out with the commit, in one round trip.
 *
 *          Statements come from a registry: one .sql file each, embedded at build time and prepared
 *          on every new connection before it is used, so drift from the schema shows at start. If
 *          one returns other columns than its file names, the connection is not used.
 * Owns     Results belong to the batch and live until the next db_open_batch().
 * Threads  One thread owns a db.
 * Fails    db_run()     ST_OK, ST_RETRY (serialization failure, deadlock, unique violation, lock
 *                       timeout: nothing written), ST_UNAVAILABLE (link lost, server shutting down,
 *                       out of resources, deadline passed: nothing written), ST_INTERNAL (any other
 *                       SQL error: nothing written; logged with SQLSTATE and statement name).
 *          db_commit()  the same, or ST_UNCERTAIN if the link was lost after COMMIT was sent.
 *          After anything but ST_OK the batch is closed and its work is rolled back or uncertain.
 *          Every wait ends a tenth of a second after the batch's deadline at the latest; a link that
 *          stays silent longer is dropped.
 */
#ifndef COMMON_DB_DB_H
#define COMMON_DB_DB_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/status.h"
#include "common/base/str.h"
#include "common/base/uuid.h"

struct db;
struct db_rows;

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

/* A bound parameter, in text format unless stated otherwise; STR_NONE is SQL NULL. */
typedef struct str db_param;

/* What the options point to must outlive the db. NULL: db_url_fault() finds one. */
struct db *db_new(const struct db_options *options);
void db_free(struct db *db);

/* Connects if the link is down (waiting `timeout_ms` at most) and prepares the registry. Returns at
   once if the link is up. An attempt that takes longer continues in the next call. Of several hosts
   it takes the first that matches target_session_attrs; if the URL has none, the first that takes
   writes (see may_be_standby). */
MUST_CHECK enum status db_connect(struct db *db, int timeout_ms);
bool db_is_up(const struct db *db);
/* Why the link is down, a constant text: servers cannot be reached, or are standbys. NULL: it is
   up. */
const char *db_trouble(const struct db *db);
/* Drops the link if the server has closed it; cheap, for idle moments. */
void db_check(struct db *db);
/* Between batches: readable when the server has closed the link or sent a message; call db_check()
   then. During a batch and while connecting: wait for db_events(), then call db_is_ready() or
   db_connect(). -1 while the link is down. */
int db_socket(const struct db *db);

/* `deadline_us` as of clock_us(). The link must be up. */
void db_open_batch(struct db *db, int64_t deadline_us);
/* Queues a statement and returns its index in the batch. Copies the parameters. After a failure
   nothing is queued. */
size_t db_add(struct db *db, int statement, const db_param *params, size_t n);
/* The same, with parameters in binary format if their bit is set; bit 0 is that of the first. With
   DB_BINARY_ROWS all values of the rows come in binary format. */
#define DB_BINARY_ROWS (UINT32_C(1) << 31)
size_t db_add_binary(struct db *db, int statement, const db_param *params, size_t n,
                     uint32_t binary);
MUST_CHECK enum status db_run(struct db *db);
MUST_CHECK enum status db_commit(struct db *db);
/* The same in two steps, for callers with other work to do meanwhile: send, and once db_is_ready(),
   call db_run() or db_commit(), which then do not wait. If sending does not return ST_OK, the batch
   has failed as it would in db_run() or db_commit(). */
MUST_CHECK enum status db_send_run(struct db *db);
MUST_CHECK enum status db_send_commit(struct db *db);
/* Reads and writes as much as possible without blocking. True: everything that was sent has been
   answered, or never will be. Call when the socket is ready for db_events(), or the batch is
   late. */
bool db_is_ready(struct db *db);
bool db_is_late(const struct db *db); /* the batch's deadline and grace have passed */
short db_events(const struct db *db); /* for poll() */
/* Rolls the batch back. */
void db_abandon(struct db *db);
/* How the batch has failed; ST_OK = it has not. */
enum status db_failure(const struct db *db);
/* How many statements the batch has so far: the next one's index. */
size_t db_added(const struct db *db);

/* Statements added from now on are spare: once the results of the batch hold more than `bytes`,
   their results are dropped as they arrive, unless small (DB_SMALL). 0 = not spare, the default. */
void db_add_spare(struct db *db, size_t bytes);
#define DB_SMALL (64 * 1024)
/* How many bytes of the result were dropped; 0 = it is there. */
size_t db_dropped(const struct db *db, size_t index);

const struct db_rows *db_result(const struct db *db, size_t index);
size_t db_rows_count(const struct db_rows *rows);
size_t db_rows_affected(const struct db_rows *rows);
/* A value by row and column number; NAME_sql.h has the numbers. STR_NONE for SQL NULL and for a row
   that does not exist (logged). Lives as long as the result. */
struct str db_value(const struct db_rows *rows, size_t row, int column);
bool db_value_bool(const struct db_rows *rows, size_t row, int column);
/* In text or binary format. A time in binary format: microseconds since DB_EPOCH_US. */
int64_t db_value_int(const struct db_rows *rows, size_t row, int column);
#define DB_EPOCH_US INT64_C(946684800000000) /* 2000-01-01, in Unix microseconds */
/* An id in binary format. False: it is SQL NULL, and *out is unchanged. */
bool db_value_id(const struct db_rows *rows, size_t row, int column, struct uuid *out);

/* SQLSTATE of the batch's failure, "" if none. */
const char *db_last_sqlstate(const struct db *db);
/* The statement (its number in the registry) that made the batch fail; -1 = none in particular. */
int db_last_statement(const struct db *db);
/* Its index in the batch. */
size_t db_last_entry(const struct db *db);
#define DB_NO_ENTRY SIZE_MAX /* none in particular: the link or the commit failed */

/* -- what error codes mean ----------------------------------------------------------------------- */

/* ST_RETRY: lost a race; ST_UNAVAILABLE: the server cannot serve now; ST_INTERNAL: anything else.
 */
enum status sqlstate_status(const char *sqlstate);

/* The connection can no longer be used, although the socket may still look healthy: the server is
   going away, has become read-only, or no longer has the prepared statements. */
bool sqlstate_ends_link(const char *sqlstate);

#endif
