#include "services/access/outbox.h"

#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "access_sql.h"
#include "common/audit_log/audit_log.h"
#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/base/watchdog.h"
#include "common/db/params.h"
#include "proto/headers.h"
#include "proto/outcome.h"
#include "proto/subject.h"
#include "services/access/claimed.h"

enum {
    LOOK_US = 5 * 1000 * 1000, /* for what other processes left, and changes set aside */
    FAILED_US = 1000 * 1000,
    SHOW_US = 5 * 1000 * 1000,
    CONNECT_MS = 100,
    DATABASE_US = 5 * 1000 * 1000,
    MEMORY_MAX = 64 * 1024 * 1024,

    ANSWER_US = 5 * 1000 * 1000,
    STOP_US = 2 * 1000 * 1000,

    RETRY_MIN_MS = 100,
    RETRY_MAX_MS = 5 * 1000,
    SET_ASIDE_MS = 5 * 60 * 1000,
};

struct outbox_metrics {
    struct metric *sent, *refused, *retries, *waiting, *age, *set_aside;
};

struct outbox {
    struct bus *bus;
    struct db *db;
    struct arena arena; /* of one message */
    struct outbox_metrics metrics;
    size_t limit;           /* changes in the next message */
    int64_t retry_ms;       /* the pause after the last message; 0: there was a reply */
    int64_t rests_until_us; /* all times are clock_mono_us() */
    int64_t look_due_us, show_due_us, stop_due_us;

    uint64_t handle; /* of the latest request */
    bool has_ended;
    struct bus_message *reply; /* NULL: nobody takes the command */

    atomic_bool has_rung, is_stopping;
    pthread_t thread;
};

/* The outbox of this process. Actors wake it, and may outlive it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct outbox *outbox;

/* -- what a reply means ------------------------------------------------------------------------ */

/* unknown_command says nothing about the changes: that process does not support the command, or not
   the headers of this version. server_error counts as a refusal, so that other changes need not
   wait until somebody has found the cause. */
enum outbox_verdict outbox_judge(struct str outcome)
{
    enum outcome of;

    if (outcome.n == 0 || !outcome_of(outcome, &of) || of == OUTCOME_UNKNOWN_COMMAND)
        return OUTBOX_LATER;
    if (outcome_code(of) == NULL)
        return OUTBOX_IN_LOG;
    return outcome_http_status(of) < 500 || of == OUTCOME_SERVER_ERROR ? OUTBOX_REFUSED
                                                                       : OUTBOX_LATER;
}

/* -- the bus ----------------------------------------------------------------------------------- */

static void on_reply(void *closure, uint64_t handle, enum bus_reply_kind kind,
                     struct bus_message *message)
{
    struct outbox *self = closure;

    if (handle != self->handle || self->has_ended) {
        bus_message_free(message); /* a late reply to an earlier request */
        return;
    }
    self->has_ended = true;
    self->reply = message;
}

static bool is_awaited(void *closure, uint64_t handle)
{
    const struct outbox *self = closure;

    return handle == self->handle && !self->has_ended;
}

static bool is_stopping(const struct outbox *self)
{
    return atomic_load(&self->is_stopping);
}

static void await_reply(struct outbox *self, int64_t until_us)
{
    while (!self->has_ended && bus_is_up(self->bus)) {
        const int64_t end_us =
            is_stopping(self) && self->stop_due_us < until_us ? self->stop_due_us : until_us;
        const int left_ms = clock_left_ms(end_us, clock_mono_us(), INT_MAX);

        if (left_ms == 0)
            return;
        bus_wait(self->bus, left_ms);
    }
}

/* Sends the message and waits. Returns the reply's outcome, in the arena; STR_NONE: no reply. */
static struct str hand_over(struct outbox *self, const struct claimed *claimed)
{
    const int64_t until_us = clock_mono_us() + ANSWER_US;
    const struct uuid id = uuid_v7(clock_us());
    char id_text[UUID_TEXT + 1], in_cell[CELL_SUBJECT_CAPACITY];
    const struct bus_header headers[] = {
        {HEADER_REQUEST_ID, id_text},
        {HEADER_DEADLINE, arena_printf(&self->arena, "%" PRId64, (clock_us() + ANSWER_US) / 1000)},
    };
    struct str outcome = STR_NONE;

    uuid_format(&id, id_text);
    self->handle++;
    self->has_ended = false;
    if (bus_request(self->bus, subject_in_cell(SUBJECT_AUDIT_RECORD, claimed->cell, in_cell),
                    self->handle, headers, ARRAY_SIZE(headers), claimed->message) == ST_OK)
        await_reply(self, until_us);
    self->has_ended = true; /* a reply from here on is late */
    if (self->reply != NULL)
        outcome = arena_str(&self->arena, bus_message_header(self->reply, HEADER_OUTCOME));
    bus_message_free(self->reply);
    self->reply = NULL;
    return outcome;
}

/* -- after the reply --------------------------------------------------------------------------- */

static enum status finish(struct outbox *self, const struct claimed *claimed)
{
    metric_add(self->metrics.sent, (int64_t)claimed->n);
    self->retry_ms = 0;
    self->limit = self->limit < CLAIMED_MAX / 2 ? self->limit * 2 : CLAIMED_MAX;
    return claimed_clear(claimed, self->db);
}

/* A process that is stopping makes them due at once, for other processes. */
static enum status retry(struct outbox *self, const struct claimed *claimed, struct str outcome)
{
    enum status st;

    metric_add(self->metrics.retries, 1);
    if (self->retry_ms == 0)
        LOG(LOG_WARNING, "the audit service does not accept changes; retrying",
            log_slice("outcome", outcome), log_int("changes", (int64_t)claimed->n));
    self->retry_ms = self->retry_ms == 0 ? RETRY_MIN_MS : self->retry_ms * 2;
    if (self->retry_ms > RETRY_MAX_MS)
        self->retry_ms = RETRY_MAX_MS;
    st = claimed_postpone(claimed, is_stopping(self) ? 0 : self->retry_ms, STR_NONE, self->db,
                          &self->arena);
    self->rests_until_us = self->look_due_us = clock_mono_us() + self->retry_ms * 1000;
    return st;
}

/* Sets aside a change that was refused alone. Of several changes, any may be the cause: they are
   sent again, fewer at a time. */
static enum status set_aside(struct outbox *self, const struct claimed *claimed, struct str outcome)
{
    self->retry_ms = 0;
    if (claimed->n > 1) {
        self->limit = claimed->n / 2;
        return claimed_postpone(claimed, 0, STR_NONE, self->db, &self->arena);
    }
    metric_add(self->metrics.refused, 1);
    LOG(LOG_ERROR, "the audit service refused a change; set aside and retried in five minutes",
        log_slice("id", claimed->first), log_slice("outcome", outcome));
    return claimed_postpone(claimed, SET_ASIDE_MS, outcome, self->db, &self->arena);
}

/* True: there may be more. */
static bool deliver(struct outbox *self)
{
    struct claimed claimed = {.n = 0};
    enum status st = claimed_take(self->db, self->limit, &self->arena, &claimed);
    struct str outcome;

    if (st == ST_OK && claimed.n > 0) {
        outcome = hand_over(self, &claimed);
        switch (outbox_judge(outcome)) {
        case OUTBOX_IN_LOG:
            st = finish(self, &claimed);
            break;
        case OUTBOX_LATER:
            st = retry(self, &claimed, outcome);
            break;
        case OUTBOX_REFUSED:
            st = set_aside(self, &claimed, outcome);
            break;
        }
    }
    arena_clear(&self->arena);
    if (st != ST_OK) {
        self->look_due_us = clock_mono_us() + FAILED_US;
        LOG(LOG_WARNING, "could not process the outbox; retrying in one second",
            log_str("status", status_name(st)));
    }
    return st == ST_OK && claimed.n > 0 && self->retry_ms == 0;
}

/* -- the thread -------------------------------------------------------------------------------- */

static void show(struct outbox *self)
{
    static const struct params none;
    const struct db_rows *rows;

    if (clock_mono_us() < self->show_due_us)
        return;
    self->show_due_us = clock_mono_us() + SHOW_US;
    if (db_once(self->db, SQL_READ_OUTBOX, &none, DATABASE_US) != ST_OK)
        return;
    rows = db_result(self->db, 0);
    metric_set(self->metrics.waiting, db_value_int(rows, 0, READ_OUTBOX_WAITING));
    metric_set(self->metrics.age, db_value_int(rows, 0, READ_OUTBOX_AGE));
    metric_set(self->metrics.set_aside, db_value_int(rows, 0, READ_OUTBOX_SET_ASIDE));
}

static bool is_due(const struct outbox *self)
{
    const int64_t now_us = clock_mono_us();

    return now_us >= self->rests_until_us &&
           (now_us >= self->look_due_us || atomic_load(&self->has_rung));
}

/* The gauges need the database but not the bus. */
static void run_once(struct outbox *self)
{
    db_check(self->db);
    if (!db_is_up(self->db) && db_connect(self->db, CONNECT_MS) != ST_OK)
        return;
    if (is_due(self) && bus_is_up(self->bus)) {
        atomic_store(&self->has_rung, false);
        self->look_due_us = clock_mono_us() + LOOK_US;
        while (db_is_up(self->db) && deliver(self) && !is_stopping(self))
            watchdog_kick();
    }
    if (db_is_up(self->db))
        show(self);
}

static int pause_ms(const struct outbox *self)
{
    int64_t due_us = atomic_load(&self->has_rung) ? 0 : self->look_due_us;

    if (!db_is_up(self->db) || !bus_is_up(self->bus))
        return CONNECT_MS;
    if (due_us < self->rests_until_us)
        due_us = self->rests_until_us;
    return clock_left_ms(due_us, clock_mono_us(), LOOK_US / 1000);
}

static void *run(void *closure)
{
    struct outbox *self = closure;

    watchdog_begin("outbox");
    while (!is_stopping(self)) {
        run_once(self);
        bus_wait(self->bus, pause_ms(self));
    }
    watchdog_end();
    return NULL;
}

/* -- the audit sink ---------------------------------------------------------------------------- */

static void ring(const struct db_rows *rows, struct command *const *commands, size_t n)
{
    pthread_mutex_lock(&lock);
    if (outbox != NULL) {
        atomic_store(&outbox->has_rung, true);
        bus_wake(outbox->bus);
    }
    pthread_mutex_unlock(&lock);
}

static void add(struct db *db, const struct audit_statements *statements,
                struct command *const *commands, size_t n, struct arena *arena)
{
    change_log_add(db, statements->changes, commands, n, arena);
}

const struct audit_sink access_outbox = {
    .changes = &access_sql[SQL_APPEND_OUTBOX], .add = add, .on_commit = ring};

/* -- starting and stopping --------------------------------------------------------------------- */

static struct outbox_metrics outbox_metrics_make(void)
{
    return (struct outbox_metrics){
        .sent = metric_counter("conversations_access_outbox_sent_total", NULL,
                               "Changes that the audit service has recorded in the log of changes"),
        .refused = metric_counter("conversations_access_outbox_refused_total", NULL,
                                  "Refusals of a change by the audit service"),
        .retries = metric_counter("conversations_access_outbox_retries_total", NULL,
                                  "Messages with changes that the audit service did not accept"),
        .waiting =
            metric_gauge("conversations_access_outbox_waiting", NULL,
                         "Changes that are not in the log of changes yet, counted to 10,000"),
        .age = metric_gauge("conversations_access_outbox_age_seconds", NULL,
                            "Age of the oldest change that is not in the log of changes"),
        .set_aside = metric_gauge("conversations_access_outbox_set_aside", NULL,
                                  "Changes that the audit service has refused, counted to 10,000"),
    };
}

static void release(struct outbox *self)
{
    bus_free(self->bus);
    db_free(self->db);
    arena_release(&self->arena);
    free(self);
}

static bool open_links(struct outbox *self, const struct process *process)
{
    self->db = db_new(&(struct db_options){
        .url = process->database_url,
        .name = process->name,
        .statements = access_sql,
        .n_statements = ACCESS_SQL_COUNT,
    });
    self->bus = bus_connect(&(struct bus_options){
        .url = process->bus_url,
        .name = process->name,
        .tls = process->bus_tls,
        .inbox_prefix = bus_user_inbox(BUS_USER_ACCESS),
    });
    return self->db != NULL && self->bus != NULL;
}

enum status outbox_start(const struct process *process)
{
    struct outbox *self = heap_zeroed(1, sizeof(*self));
    int failed;

    must(outbox == NULL);
    arena_init(&self->arena, MEMORY_MAX);
    if (!open_links(self, process)) {
        LOG(LOG_ERROR, "DATABASE_URL or NATS_URL cannot be used");
        release(self);
        return ST_REFUSED;
    }
    self->limit = CLAIMED_MAX;
    self->has_ended = true;
    self->metrics = outbox_metrics_make();
    bus_open_inbox(self->bus, on_reply, is_awaited, self);
    failed = pthread_create(&self->thread, NULL, run, self);
    must(failed == 0);
    pthread_mutex_lock(&lock);
    outbox = self;
    pthread_mutex_unlock(&lock);
    return ST_OK;
}

void outbox_stop(void)
{
    struct outbox *self;
    int failed;

    pthread_mutex_lock(&lock);
    self = outbox;
    outbox = NULL;
    pthread_mutex_unlock(&lock);
    self->stop_due_us = clock_mono_us() + STOP_US;
    atomic_store(&self->is_stopping, true);
    bus_wake(self->bus);
    failed = pthread_join(self->thread, NULL);
    must(failed == 0);
    release(self);
}
