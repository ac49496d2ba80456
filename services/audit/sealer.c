#include "services/audit/sealer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "audit_sql.h"
#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/clock_check.h"
#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/base/watchdog.h"
#include "services/audit/database_watch.h"
#include "services/audit/publish_heads.h"
#include "services/audit/retention.h"
#include "services/audit/seal_step.h"

enum {
    STEP_MS = 500,      /* from one step to the next while there is something to seal */
    REST_MAX_MS = 4000, /* otherwise twice as long as the last time, and this at most */
    PUBLISH_US = 60 * 1000 * 1000,
    CONNECT_MS = 100,
    MEMORY_MAX = 512 * 1024 * 1024,
};

struct sealer_metrics {
    struct metric *entries, *blocks, *implausible, *misdated, *left_out, *foreign, *lacks_key,
        *heads, *lag;
};

struct sealer {
    struct bus *bus;
    struct db *db;
    struct arena arena;
    struct seal_step sealing;
    struct head_publisher publisher;
    struct retention_job retention;
    struct database_watch watch;
    struct sealer_metrics metrics;
    bool had_stopped;
    int rest_ms;             /* between the last two steps */
    int64_t sealed_until_us; /* clock_us(): at the last step, all older entries were sealed */
    int64_t publish_due_us;  /* clock_mono_us() */
    atomic_bool is_stopping;
    pthread_t thread;
};

static struct sealer *sealer; /* of this process */
static struct metric *lag;    /* the sealer's; metrics outlive it */

/* Logs what should not exist, with the first of each kind. */
static void complain(const struct seal_step *sealing)
{
    char id[UUID_TEXT + 1];

    uuid_format(&sealing->suspect, id);
    if (sealing->implausible > 0)
        LOG(LOG_ERROR, "no service can have appended these entries; they are sealed with a mark",
            log_int("entries", (int64_t)sealing->implausible), log_str("first", id));
    uuid_format(&sealing->dated, id);
    if (sealing->misdated > 0)
        LOG(LOG_ERROR, "a clock was wrong, or entries were dated so; they are sealed with a mark",
            log_int("entries", (int64_t)sealing->misdated), log_str("first", id));
    uuid_format(&sealing->left, id);
    if (sealing->left_out > 0)
        LOG(LOG_ERROR, "entries in the audit log cannot be sealed",
            log_int("entries", (int64_t)sealing->left_out), log_str("first", id));
    uuid_format(&sealing->foreign.organization_id, id);
    if (sealing->foreign.n > 0)
        LOG(LOG_ERROR, "blocks of the audit log were altered",
            log_int("blocks", (int64_t)sealing->foreign.n), log_str("organization_id", id),
            log_int("number", sealing->foreign.number));
}

/* Logs why this replica cannot seal. */
static void complain_of_stop(const struct seal_step *sealing)
{
    char id[UUID_TEXT + 1];

    uuid_format(&sealing->foreign.unknown_organization_id, id);
    if (sealing->is_adrift)
        LOG(LOG_ERROR, "the audit log is from another database server: its transactions are ahead "
                       "of this one's; nothing is sealed until migrate has run");
    if (sealing->lacks_key)
        LOG(LOG_ERROR,
            "a block is signed with an unknown key: this replica seals nothing; see "
            "AUDIT_PUBLIC_KEYS",
            log_str("organization_id", id), log_int("number", sealing->foreign.unknown_number));
    if (sealing->is_lost)
        LOG(LOG_ERROR, "too many blocks were altered: nothing is sealed",
            log_int("blocks", (int64_t)sealing->foreign.n));
    if (clock_is_skewed(sealing->clock_skew_ms))
        LOG(LOG_ERROR,
            "our clock differs too much from the database's: nothing is sealed until they agree",
            log_int("ahead_ms", sealing->clock_skew_ms));
}

static void show(struct sealer *self)
{
    const struct seal_step *sealing = &self->sealing;

    metric_add(self->metrics.entries, (int64_t)sealing->sealed);
    metric_add(self->metrics.blocks, (int64_t)sealing->blocks);
    metric_add(self->metrics.implausible, (int64_t)sealing->implausible);
    metric_add(self->metrics.misdated, (int64_t)sealing->misdated);
    metric_add(self->metrics.left_out, (int64_t)sealing->left_out);
    metric_add(self->metrics.foreign, (int64_t)sealing->foreign.n);
    complain(sealing);
    metric_set(self->metrics.lacks_key, sealing->lacks_key);
    if (seal_step_has_stopped(sealing) && !self->had_stopped)
        complain_of_stop(sealing);
    self->had_stopped = seal_step_has_stopped(sealing);
    if (!self->had_stopped)
        self->sealed_until_us = sealing->oldest_us > 0 ? sealing->oldest_us : clock_us();
}

/* False: it failed. */
static bool seal_next(struct sealer *self)
{
    enum status st = seal_step_run(&self->sealing, self->db, &self->arena);

    arena_clear(&self->arena);
    if (st == ST_OK)
        show(self);
    else
        LOG(LOG_WARNING, "could not seal the audit log; retrying",
            log_str("status", status_name(st)));
    metric_set(self->metrics.lag, (clock_us() - self->sealed_until_us) / 1000000);
    return st == ST_OK;
}

static void publish(struct sealer *self)
{
    struct head_publisher *round = &self->publisher;
    enum status st;

    if (clock_mono_us() < self->publish_due_us || !bus_is_up(self->bus))
        return;
    do {
        st = publish_heads(round, self->db, self->bus, &self->arena);
        arena_clear(&self->arena);
        if (st == ST_OK)
            metric_add(self->metrics.heads, (int64_t)round->n);
        if (round->foreign.n > 0)
            LOG(LOG_ERROR, "heads of chains were altered: not published",
                log_int("blocks", (int64_t)round->foreign.n));
        if (round->foreign.has_unknown)
            LOG(LOG_WARNING, "heads are left to a replica that has their key",
                log_int("number", round->foreign.unknown_number));
    } while (st == ST_OK && round->is_behind && !atomic_load(&self->is_stopping));
    self->publish_due_us = clock_mono_us() + PUBLISH_US;
    if (st != ST_OK)
        LOG(LOG_WARNING, "could not record which heads were published",
            log_str("status", status_name(st)));
}

static void run_once(struct sealer *self)
{
    db_check(self->db);
    if (!db_is_up(self->db)) {
        /* The database may come back as another one, restored from a backup. */
        self->sealing.memory = (struct seal_step_memory){0};
        if (db_connect(self->db, CONNECT_MS) != ST_OK)
            return;
    }
    while (seal_next(self) && self->sealing.is_behind && !atomic_load(&self->is_stopping))
        ;
    if (db_is_up(self->db))
        publish(self);
    if (db_is_up(self->db))
        retention_job_step(&self->retention, self->db, &self->arena);
    if (db_is_up(self->db))
        database_watch_step(&self->watch, self->db, &self->arena);
    arena_clear(&self->arena);
    bus_flush(self->bus);
}

static int next_rest_ms(const struct sealer *self)
{
    const bool has_more = self->sealing.sealed > 0 || self->sealing.oldest_us > 0;

    if (has_more || !db_is_up(self->db))
        return STEP_MS;
    return 2 * self->rest_ms < REST_MAX_MS ? 2 * self->rest_ms : REST_MAX_MS;
}

static void *run(void *closure)
{
    struct sealer *self = closure;

    watchdog_begin("sealer");
    while (!atomic_load(&self->is_stopping)) {
        run_once(self);
        self->rest_ms = next_rest_ms(self);
        bus_wait(self->bus, self->rest_ms);
    }
    watchdog_end();
    return NULL;
}

/* -- starting and stopping -------------------------------------------------------------------- */

static struct sealer_metrics sealer_metrics_make(void)
{
    return (struct sealer_metrics){
        .entries = metric_counter("conversations_audit_sealed_entries_total", NULL,
                                  "Entries of the audit log that were sealed"),
        .blocks =
            metric_counter("conversations_audit_blocks_total", NULL, "Blocks of sealed entries"),
        .implausible = metric_counter("conversations_audit_implausible_entries_total", NULL,
                                      "Entries that no service can have appended; they are "
                                      "sealed with a mark"),
        .misdated = metric_counter("conversations_audit_misdated_entries_total", NULL,
                                   "Entries whose time is more than a minute from when they were "
                                   "appended; they are sealed with a mark"),
        .left_out = metric_counter("conversations_audit_unsealable_entries_total", NULL,
                                   "Entries that cannot be sealed"),
        .foreign = metric_counter("conversations_audit_foreign_blocks_total", NULL,
                                  "Altered blocks met while sealing; one may be met several times"),
        .lacks_key = metric_gauge("conversations_audit_key_missing", NULL,
                                  "1 while this process does not seal because the newest block is "
                                  "signed with an unknown key"),
        .heads = metric_counter("conversations_audit_heads_total", NULL,
                                "Heads of chains that were published"),
        .lag = metric_gauge("conversations_audit_seal_lag_seconds", NULL,
                            "Approximate age of the oldest entry that is not sealed"),
    };
}

static void release(struct sealer *self)
{
    bus_free(self->bus);
    db_free(self->db);
    arena_release(&self->arena);
    free(self);
}

static bool open_links(struct sealer *self, const struct process *process)
{
    self->db = db_new(&(struct db_options){
        .url = process->database_url,
        .name = process->name,
        .statements = audit_sql,
        .n_statements = AUDIT_SQL_COUNT,
    });
    self->bus = bus_connect(&(struct bus_options){
        .url = process->bus_url,
        .name = process->name,
        .settings = process->bus_settings,
    });
    return self->db != NULL && self->bus != NULL;
}

enum status sealer_start(const struct process *process, const struct audit_keys *keys,
                         int64_t retention_months)
{
    struct sealer *self = heap_zeroed(1, sizeof(*self));
    int failed;

    must(sealer == NULL);
    arena_init(&self->arena, MEMORY_MAX);
    if (!open_links(self, process)) {
        LOG(LOG_ERROR, "DATABASE_URL or NATS_URL cannot be used");
        release(self);
        return ST_REFUSED;
    }
    self->sealing.keys = self->publisher.keys = keys;
    self->publisher.cell = process->cell;
    self->retention.keys = keys;
    self->retention.name = process->name;
    self->retention.months = retention_months;
    self->sealed_until_us = clock_us();
    self->rest_ms = STEP_MS;
    self->metrics = sealer_metrics_make();
    database_watch_open(&self->watch);
    lag = self->metrics.lag;
    failed = pthread_create(&self->thread, NULL, run, self);
    must(failed == 0);
    sealer = self;
    return ST_OK;
}

void sealer_stop(void)
{
    int failed;

    atomic_store(&sealer->is_stopping, true);
    bus_wake(sealer->bus);
    failed = pthread_join(sealer->thread, NULL);
    must(failed == 0);
    release(sealer);
    sealer = NULL;
}

int64_t sealer_lag_s(void)
{
    return metric_read(lag);
}
