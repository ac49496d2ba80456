#include "services/access/outbox.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "access_sql.h"
#include "common/audit_log/audit_log.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/base/watchdog.h"
#include "common/db/params.h"
#include "proto/subject.h"
#include "services/access/lane.h"

enum {
    LOOK_US = 5 * 1000 * 1000, /* for what other processes left, and changes set aside */
    FAILED_US = 1000 * 1000,
    SHOW_US = 5 * 1000 * 1000,
    CONNECT_MS = 100,
    DATABASE_US = 5 * 1000 * 1000,
    MEMORY_MAX = 1024 * 1024,

    LANES = 16, /* cells that do not answer, until others wait for them */
    STOP_US = 2 * 1000 * 1000,
};

struct outbox_metrics {
    struct lane_metrics lanes;
    struct metric *waiting, *age, *set_aside;
};

struct outbox {
    struct bus *bus;
    struct db *db;
    struct arena arena; /* of one step */
    struct outbox_metrics metrics;
    struct lane lanes[LANES];
    uint64_t handle;                               /* of the latest request */
    int64_t look_due_us, show_due_us, stop_due_us; /* all times are clock_mono_us() */

    atomic_bool has_rung, is_stopping;
    pthread_t thread;
};

/* The outbox of this process. Actors wake it, and may outlive it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct outbox *outbox;

/* -- the bus ----------------------------------------------------------------------------------- */

/* NULL: nobody awaits it. */
static struct lane *lane_by_handle(struct outbox *self, uint64_t handle)
{
    for (size_t i = 0; i < LANES; i++)
        if (self->lanes[i].handle == handle)
            return &self->lanes[i];
    return NULL;
}

static void on_reply(void *closure, uint64_t handle, enum bus_reply_kind kind,
                     struct bus_message *message)
{
    struct lane *lane = lane_by_handle(closure, handle);

    if (lane != NULL)
        lane_on_reply(lane, message);
    else
        bus_message_free(message); /* a late reply to an earlier request */
}

static bool is_awaited(void *closure, uint64_t handle)
{
    return lane_by_handle(closure, handle) != NULL;
}

static bool is_stopping(const struct outbox *self)
{
    return atomic_load(&self->is_stopping);
}

/* -- after the reply --------------------------------------------------------------------------- */

static void look_at(struct outbox *self, int64_t due_us)
{
    if (due_us < self->look_due_us)
        self->look_due_us = due_us;
}

static void note_failure(struct outbox *self, enum status st)
{
    self->look_due_us = clock_mono_us() + FAILED_US;
    LOG(LOG_WARNING, "could not process the outbox; retrying in one second",
        log_str("status", status_name(st)));
}

static void settle(struct outbox *self, struct lane *lane)
{
    enum status st = lane_settle(lane, self->db, is_stopping(self), &self->metrics.lanes);

    /* There may be more; or it pauses. */
    look_at(self, lane->rests_until_us);
    if (st != ST_OK)
        note_failure(self, st);
}

/* Settles the messages that have ended; without the bus, or when time is up, all that are under
   way. Their claims expire if the database is down. */
static void settle_ended(struct outbox *self)
{
    const int64_t now_us = clock_mono_us();
    const bool all = !bus_is_up(self->bus) || (is_stopping(self) && now_us >= self->stop_due_us);

    for (size_t i = 0; i < LANES; i++) {
        struct lane *lane = &self->lanes[i];

        if (lane_is_under_way(lane) && (all || lane_has_ended(lane, now_us)))
            settle(self, lane);
    }
}

/* -- sending ----------------------------------------------------------------------------------- */

/* The lane of that cell, or else the one that was used least recently. NULL: none is free. */
static struct lane *free_lane(struct outbox *self, const char *cell)
{
    const int64_t now_us = clock_mono_us();
    struct lane *found = NULL;

    for (size_t i = 0; i < LANES; i++) {
        struct lane *lane = &self->lanes[i];

        if (lane->was_looked_at || !lane_is_free(lane, now_us))
            continue;
        if (strcmp(lane->cell, cell) == 0)
            return lane;
        if (found == NULL || lane->until_us < found->until_us)
            found = lane;
    }
    return found;
}

/* The cells to which nothing is sent now. */
static struct str cells_to_skip(struct outbox *self)
{
    const int64_t now_us = clock_mono_us();
    struct buf cells;

    array_open(&cells, &self->arena, LANES * CELL_CAPACITY);
    for (size_t i = 0; i < LANES; i++) {
        const struct lane *lane = &self->lanes[i];

        if (lane->was_looked_at || !lane_is_free(lane, now_us))
            array_add_plain(&cells, str_of(lane->cell));
    }
    return array_close(&cells);
}

/* Sends a message to the next cell that has changes. True: there may be another one. */
static bool send_next(struct outbox *self, enum status *st)
{
    char cell[CELL_CAPACITY] = "";
    struct lane *lane;
    bool found = false;

    if (free_lane(self, cell) == NULL)
        return false;
    *st = claimed_choose_cell(self->db, cells_to_skip(self), cell, &found);
    arena_clear(&self->arena);
    if (*st != ST_OK || !found)
        return false;
    lane = free_lane(self, cell);
    lane_assign(lane, cell);
    lane->was_looked_at = true;
    *st = lane_send(lane, self->db, self->bus, ++self->handle);
    return *st == ST_OK;
}

/* Each cell at most once. */
static void send_all(struct outbox *self)
{
    const int64_t now_us = clock_mono_us();
    enum status st = ST_OK;

    atomic_store(&self->has_rung, false);
    self->look_due_us = now_us + LOOK_US;
    for (size_t i = 0; i < LANES; i++) {
        self->lanes[i].was_looked_at = false;
        if (self->lanes[i].rests_until_us > now_us)
            look_at(self, self->lanes[i].rests_until_us);
    }
    while (send_next(self, &st) && !is_stopping(self))
        watchdog_kick();
    if (st != ST_OK)
        note_failure(self, st);
}

/* -- the thread -------------------------------------------------------------------------------- */

static void show(struct outbox *self)
{
    const struct db_rows *rows;

    if (clock_mono_us() < self->show_due_us)
        return;
    self->show_due_us = clock_mono_us() + SHOW_US;
    if (db_once(self->db, SQL_READ_OUTBOX, NULL, DATABASE_US) != ST_OK)
        return;
    rows = db_result(self->db, 0);
    metric_set(self->metrics.waiting, db_value_int(rows, 0, READ_OUTBOX_WAITING));
    metric_set(self->metrics.age, db_value_int(rows, 0, READ_OUTBOX_AGE));
    metric_set(self->metrics.set_aside, db_value_int(rows, 0, READ_OUTBOX_SET_ASIDE));
}

static bool is_due(const struct outbox *self)
{
    return !is_stopping(self) && bus_is_up(self->bus) &&
           (clock_mono_us() >= self->look_due_us || atomic_load(&self->has_rung));
}

/* The gauges need the database but not the bus. */
static void run_once(struct outbox *self)
{
    db_check(self->db);
    if (!db_is_up(self->db) && db_connect(self->db, CONNECT_MS) != ST_OK)
        return;
    settle_ended(self);
    if (is_due(self))
        send_all(self);
    if (db_is_up(self->db))
        show(self);
}

static bool is_under_way(const struct outbox *self)
{
    for (size_t i = 0; i < LANES; i++)
        if (lane_is_under_way(&self->lanes[i]))
            return true;
    return false;
}

/* Until a message is late, or the next look is due. A reply ends the pause. */
static int pause_ms(const struct outbox *self)
{
    int64_t due_us = atomic_load(&self->has_rung) ? 0 : self->look_due_us;

    if (!db_is_up(self->db) || !bus_is_up(self->bus))
        return CONNECT_MS;
    if (is_stopping(self))
        due_us = self->stop_due_us;
    for (size_t i = 0; i < LANES; i++)
        if (lane_is_under_way(&self->lanes[i]) && self->lanes[i].until_us < due_us)
            due_us = self->lanes[i].until_us;
    return clock_left_ms(due_us, clock_mono_us(), LOOK_US / 1000);
}

static void *run(void *closure)
{
    struct outbox *self = closure;

    watchdog_begin("outbox");
    while (!is_stopping(self) || (is_under_way(self) && clock_mono_us() < self->stop_due_us)) {
        run_once(self);
        bus_wait(self->bus, pause_ms(self));
    }
    if (db_is_up(self->db))
        settle_ended(self);
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
        .lanes = lane_metrics_make(),
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
    for (size_t i = 0; i < LANES; i++)
        lane_release(&self->lanes[i]);
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
        .settings = process->bus_settings,
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
    for (size_t i = 0; i < LANES; i++)
        lane_init(&self->lanes[i]);
    if (!open_links(self, process)) {
        LOG(LOG_ERROR, "DATABASE_URL or NATS_URL cannot be used");
        release(self);
        return ST_REFUSED;
    }
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
