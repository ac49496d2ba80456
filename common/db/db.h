/*
 * db - one connection to PostgreSQL in pipeline mode. The only user of libpq-fe.h.
 *
 * What     The unit of work is a batch: statements are queued, run together in one round trip, and
 *          committed together, in one transaction. BEGIN goes out with the first statement, COMMIT
 *          with db_commit(). If a statement fails, the whole batch is rolled back.
 *
 *              db_open_batch(db, deadline);
 *              i = db_add(db, SQL_READ_CONVERSATIONS, PARAMS(id)); queue as many as there are
 *              st = db_run(db);                                    one round trip, then results
 *              rows = db_result(db, i);
 *              j = db_add(db, ...); st = db_run(db);              another round trip, if needed
 *              st = db_commit(db);                                one commit for all of it
 *
 *          Statements queued after the last db_run() go out with the commit, in one round trip.
 *
 *          Statements come from a registry: one .sql file each, embedded at build time and prepared
 *          on every new connection before it is used, so drift from the schema shows at start. If
 *          one returns other columns than its file names, the connection is not used.
 *
 *          The server's session may be another one in each batch, if a pooler is in between: each
 *          batch then sets for itself what a session would keep.
 * Owns     Results belong to the batch and live until the next db_open_batch().
 * Threads  One thread owns a db.
 * Fails    db_run()     ST_OK, ST_RETRY (serialization failure, deadlock, unique violation, lock
 *                       timeout: nothing written), ST_UNAVAILABLE (link lost, server shutting down,
 *                       out of resources, statement timeout, deadline passed, organization not
 *                       served here: nothing written), ST_INTERNAL (any other
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
#include "common/db/db_rows.h"
#include "common/db/db_types.h"

struct db;
struct params;

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
/* Queues a statement and returns its index in the batch. Copies the parameters (params.h); NULL =
   none. After a failure nothing is queued. */
size_t db_add(struct db *db, int statement, const struct params *params);
/* The same; all values of its rows come in binary format. */
size_t db_add_binary(struct db *db, int statement, const struct params *params);
MUST_CHECK enum status db_run(struct db *db);
MUST_CHECK enum status db_commit(struct db *db);
/* Runs a statement in a transaction of its own, for upkeep. The link must be up. Its rows are
   db_result(db, 0), until the next batch. */
MUST_CHECK enum status db_once(struct db *db, int statement, const struct params *params,
                               int64_t timeout_us);
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
/* How many bytes of the result were dropped; 0 = it is there. */
size_t db_dropped(const struct db *db, size_t index);

const struct db_rows *db_result(const struct db *db, size_t index);

/* SQLSTATE of the batch's failure, "" if none. */
const char *db_last_sqlstate(const struct db *db);
/* The statement (its number in the registry) that made the batch fail; -1 = none in particular. */
int db_last_statement(const struct db *db);
/* Its index in the batch, or DB_NO_ENTRY. */
size_t db_last_entry(const struct db *db);

#endif
