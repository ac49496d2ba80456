#include "common/db/db.h"

#include <libpq-fe.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/db/db_dialer.h"
#include "common/db/db_link.h"
#include "common/db/db_url.h"
#include "common/db/params.h"
#include "common/db/pipeline.h"

enum {
    /* How long past its deadline a batch waits for the server. The caller of the command waits
       somewhat longer, so that it still learns that nothing was written. */
    GRACE_US = 100 * 1000,
    WAIT_MAX_US = 60 * 1000 * 1000,
};

struct db {
    struct db_link link;
    struct db_dialer dialer;
    struct pipeline pipeline;
    size_t n_added;     /* statements of the batch */
    size_t n_before;    /* entries of the pipeline before them: BEGIN, and LINK_SET if pooled */
    bool is_open;       /* the batch: not committed, failed or abandoned */
    bool is_sent;       /* the statements so far, whose results have not been read */
    bool is_committing; /* the commit was sent */
    bool has_unsent;    /* the socket did not take all of it */
};

struct db *db_new(const struct db_options *options)
{
    struct db *db;

    if (db_url_fault(options->url) != NULL)
        return NULL;
    db = heap_zeroed(1, sizeof(*db));
    db_link_init(&db->link, options);
    db_dialer_init(&db->dialer, &db->link);
    db->pipeline.link = &db->link;
    pipeline_clear(&db->pipeline);
    return db;
}

void db_free(struct db *db)
{
    if (db == NULL)
        return;
    pipeline_release(&db->pipeline);
    db_dialer_release(&db->dialer);
    db_link_release(&db->link);
    free(db);
}

enum status db_connect(struct db *db, int timeout_ms)
{
    if (db_is_up(db))
        return ST_OK;
    return db_dialer_connect(&db->dialer, clock_mono_us() + (int64_t)timeout_ms * 1000);
}

bool db_is_up(const struct db *db)
{
    return db->link.is_up;
}

const char *db_trouble(const struct db *db)
{
    return db_is_up(db) ? NULL : db_dialer_trouble(&db->dialer);
}

void db_check(struct db *db)
{
    if (db_is_up(db) && !db->is_open && !db->is_sent && !db_link_is_alive(&db->link))
        db_dialer_drop(&db->dialer, "closed by the server");
}

int db_socket(const struct db *db)
{
    return db_dialer_socket(&db->dialer);
}

/* -- the batch ------------------------------------------------------------------------------- */

void db_open_batch(struct db *db, int64_t deadline_us)
{
    int64_t left_us = deadline_us - clock_us();

    must(!db->is_open && !db->is_sent);
    if (left_us < 0)
        left_us = 0;
    if (left_us > WAIT_MAX_US)
        left_us = WAIT_MAX_US;
    pipeline_clear(&db->pipeline);
    db->pipeline.until_us = clock_mono_us() + left_us + GRACE_US;
    db->n_added = 0;
    db->n_before = db->link.is_pooled ? 2 : 1;
    db->is_open = true;
    db->has_unsent = false;
    if (!db_is_up(db))
        pipeline_fail(&db->pipeline, ST_UNAVAILABLE);
}

/* A statement's index in the pipeline. */
static size_t place_of(const struct db *db, size_t index)
{
    return db->n_before + index;
}

static void send_own(struct db *db, struct pipeline *pipeline, enum link_statement statement)
{
    pipeline_send(pipeline, db_link_statement(&db->link, statement), NULL, false);
}

static void begin(struct db *db, struct pipeline *pipeline)
{
    send_own(db, pipeline, LINK_BEGIN);
    if (db->link.is_pooled)
        send_own(db, pipeline, LINK_SET);
}

static size_t add(struct db *db, int statement, const struct params *params, bool has_binary_rows)
{
    struct pipeline *pipeline = &db->pipeline;
    const size_t index = db->n_added;

    must(db->is_open);
    must(statement >= 0 && (size_t)statement < db->link.options.n_statements);
    if (pipeline->n == 0)
        begin(db, pipeline);
    pipeline_send(pipeline, statement, params, has_binary_rows);
    if (pipeline->failed == ST_OK)
        db->n_added++;
    return index;
}

size_t db_add(struct db *db, int statement, const struct params *params)
{
    return add(db, statement, params, false);
}

size_t db_add_binary(struct db *db, int statement, const struct params *params)
{
    return add(db, statement, params, true);
}

static void drop_link(struct db *db, const char *why)
{
    db->has_unsent = false;
    db_dialer_drop(&db->dialer, db->pipeline.sqlstate[0] ? db->pipeline.sqlstate : why);
}

/* Rolls back the server's transaction and leaves the link ready for the next batch, or drops it.
   After an error the server skips everything up to the first Sync. */
static void roll_back(struct db *db)
{
    struct pipeline undo = {.link = &db->link, .until_us = db->pipeline.until_us};
    bool is_usable = !db->link.is_dead;

    if (db->pipeline.n == 0 || !db_is_up(db))
        return;
    is_usable = is_usable && PQpipelineSync(db->link.conn);
    if (is_usable) {
        send_own(db, &undo, LINK_ROLLBACK);
        is_usable = PQpipelineSync(db->link.conn) && pipeline_collect(&db->pipeline) &&
                    pipeline_await_sync(&db->pipeline) && pipeline_collect(&undo) &&
                    pipeline_await_sync(&undo) && undo.failed == ST_OK;
    }
    if (!is_usable)
        drop_link(db, "lost while rolling back");
    pipeline_release(&undo);
}

/* Closes a batch that has failed or was abandoned. Nothing of it is written. */
static enum status close_unwritten(struct db *db)
{
    roll_back(db);
    db->is_open = db->is_sent = false;
    return db->pipeline.failed;
}

/* Writes what the socket takes now. */
static bool flush(struct db *db)
{
    const int unsent = PQflush(db->link.conn);

    db->has_unsent = unsent == 1;
    return unsent >= 0;
}

/* No COMMIT was sent, so if the link is lost here, nothing is written. */
static enum status lose_run(struct db *db)
{
    pipeline_fail(&db->pipeline, ST_UNAVAILABLE);
    drop_link(db, "no answer");
    return close_unwritten(db);
}

enum status db_send_run(struct db *db)
{
    struct pipeline *pipeline = &db->pipeline;

    must(db->is_open && !db->is_sent);
    if (pipeline->failed != ST_OK)
        return close_unwritten(db);
    if (pipeline->n_collected == pipeline->n)
        return ST_OK;
    if (!PQsendFlushRequest(db->link.conn) || !flush(db))
        return lose_run(db);
    db->is_sent = true;
    return ST_OK;
}

enum status db_run(struct db *db)
{
    enum status st = ST_OK;

    if (!db->is_sent)
        st = db_send_run(db);
    if (st != ST_OK || !db->is_sent)
        return st;
    db->is_sent = false;
    if (!pipeline_collect(&db->pipeline))
        return lose_run(db);
    return db->pipeline.failed == ST_OK ? ST_OK : close_unwritten(db);
}

/* The COMMIT may have arrived. If the server reported an error about one of our statements before
   the link was lost, that failure was kept, and nothing was written. */
static enum status lose_commit(struct db *db)
{
    pipeline_fail(&db->pipeline, ST_UNCERTAIN);
    drop_link(db, "no answer to a commit");
    return db->pipeline.failed;
}

enum status db_send_commit(struct db *db)
{
    struct pipeline *pipeline = &db->pipeline;

    must(db->is_open && !db->is_sent);
    if (pipeline->failed != ST_OK)
        return close_unwritten(db);
    db->is_open = false;
    if (pipeline->n == 0)
        return ST_OK;
    send_own(db, pipeline, LINK_COMMIT);
    if (pipeline->failed != ST_OK || !PQpipelineSync(db->link.conn) || !flush(db))
        return lose_commit(db);
    db->is_sent = db->is_committing = true;
    return ST_OK;
}

enum status db_commit(struct db *db)
{
    enum status st = ST_OK;

    if (db->is_open)
        st = db_send_commit(db);
    if (st != ST_OK || !db->is_committing)
        return st;
    db->is_sent = db->is_committing = false;
    if (!pipeline_collect(&db->pipeline) || !pipeline_await_sync(&db->pipeline))
        return lose_commit(db);
    if (db->pipeline.failed != ST_OK)
        roll_back(db);
    return db->pipeline.failed;
}

enum status db_once(struct db *db, int statement, const struct params *params, int64_t timeout_us)
{
    db_open_batch(db, clock_us() + timeout_us);
    db_add(db, statement, params);
    return db_commit(db);
}

bool db_is_late(const struct db *db)
{
    return clock_mono_us() >= db->pipeline.until_us;
}

bool db_is_ready(struct db *db)
{
    if (!db->is_sent || db_is_late(db))
        return true;
    if ((db->has_unsent && !flush(db)) || !PQconsumeInput(db->link.conn))
        db->link.is_dead = true;
    return pipeline_read(&db->pipeline) && (!db->is_committing || db->pipeline.is_lost ||
                                            db->link.is_dead || !PQisBusy(db->link.conn));
}

short db_events(const struct db *db)
{
    return db->has_unsent ? POLLIN | POLLOUT : db_dialer_events(&db->dialer);
}

void db_abandon(struct db *db)
{
    if (db->is_open)
        (void)close_unwritten(db);
}

enum status db_failure(const struct db *db)
{
    return db->pipeline.failed;
}

size_t db_added(const struct db *db)
{
    return db->n_added;
}

void db_add_spare(struct db *db, size_t bytes)
{
    db->pipeline.bytes_max = bytes;
}

size_t db_dropped(const struct db *db, size_t index)
{
    must(place_of(db, index) < db->pipeline.n_collected);
    return db->pipeline.entries[place_of(db, index)].dropped;
}

const struct db_rows *db_result(const struct db *db, size_t index)
{
    const size_t place = place_of(db, index);

    must(place < db->pipeline.n_collected && db->pipeline.entries[place].result != NULL);
    return (const struct db_rows *)db->pipeline.entries[place].result;
}

const char *db_last_sqlstate(const struct db *db)
{
    return db->pipeline.sqlstate;
}

int db_last_statement(const struct db *db)
{
    return db->pipeline.failed_statement;
}

size_t db_last_entry(const struct db *db)
{
    const size_t place = db->pipeline.failed_entry;

    return place == DB_NO_ENTRY ? DB_NO_ENTRY : place - db->n_before;
}
