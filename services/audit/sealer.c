#include "services/audit/sealer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "audit_sql.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/metrics.h"
#include "services/audit/pass.h"
#include "services/audit/publish.h"
#include "services/audit/retire.h"

enum {
    STEP_MS = 500,
    PUBLISH_US = 60 * 1000 * 1000,
    CONNECT_MS = 100,
    MEMORY_MOST = 512 * 1024 * 1024,
};

struct meters {
    struct metric *entries, *blocks, *implausible, *heads, *lag;
};

struct sealer {
    struct bus *bus;
    struct db *db;
    struct arena arena;
    struct pass pass;
    struct retire retire;
    struct meters meters;
    bool was_adrift;
    int64_t sealed_until_us; /* clock_us(): what is older was sealed when that was seen last */
    int64_t publish_due_us;  /* clock_mono_us() */
    atomic_bool is_stopping;
    pthread_t thread;
};

static struct sealer *sealer; /* of this process */

static void show(struct sealer *self)
{
    const struct pass *pass = &self->pass;

    metric_add(self->meters.entries, (int64_t)pass->sealed);
    metric_add(self->meters.blocks, (int64_t)pass->blocks);
    metric_add(self->meters.implausible, (int64_t)pass->implausible);
    self->sealed_until_us = pass->oldest_us > 0 ? pass->oldest_us : clock_us();
    if (pass->is_adrift && !self->was_adrift)
        LOG(LOG_ERROR, "the trail is from another database cluster: its transactions are ahead of "
                       "this one's, and nothing is sealed");
    self->was_adrift = pass->is_adrift;
    if (pass->implausible > 0) {
        char text[UUID_TEXT + 1];

        uuid_format(&pass->suspect, text);
        LOG(LOG_ERROR, "entries in the trail that no service can have appended are not sealed",
            log_int("entries", (int64_t)pass->implausible), log_str("first", text));
    }
}

/* False: not now. */
static bool step(struct sealer *self)
{
    enum status st = pass_step(&self->pass, self->db, &self->arena);

    arena_clear(&self->arena);
    if (st == ST_OK)
        show(self);
    else
        LOG(LOG_WARNING, "could not seal the trail, trying again in a second",
            log_str("status", status_name(st)));
    metric_set(self->meters.lag, (clock_us() - self->sealed_until_us) / 1000000);
    return st == ST_OK;
}

static void publish(struct sealer *self)
{
    size_t n = 0;
    enum status st;

    if (clock_mono_us() < self->publish_due_us || !bus_is_up(self->bus))
        return;
    do {
        st = publish_heads(self->db, self->bus, &self->arena, &n);
        arena_clear(&self->arena);
        if (st == ST_OK)
            metric_add(self->meters.heads, (int64_t)n);
    } while (st == ST_OK && n > 0 && !atomic_load(&self->is_stopping));
    self->publish_due_us = clock_mono_us() + PUBLISH_US;
    if (st != ST_OK)
        LOG(LOG_WARNING, "could not note which heads were published",
            log_str("status", status_name(st)));
}

static void turn(struct sealer *self)
{
    db_check(self->db);
    if (!db_is_up(self->db)) {
        /* It may come back as another one, restored from a copy. */
        self->pass.seen = (struct block_place){0};
        if (db_connect(self->db, CONNECT_MS) != ST_OK)
            return;
    }
    while (step(self) && self->pass.is_behind && !atomic_load(&self->is_stopping))
        ;
    if (db_is_up(self->db))
        publish(self);
    if (db_is_up(self->db))
        retire_step(&self->retire, self->db, &self->arena);
    arena_clear(&self->arena);
    bus_flush(self->bus);
}

static void *run(void *closure)
{
    struct sealer *self = closure;

    while (!atomic_load(&self->is_stopping)) {
        turn(self);
        bus_wait(self->bus, STEP_MS);
    }
    return NULL;
}

/* -- starting and stopping -------------------------------------------------------------------- */

static struct meters meters_make(void)
{
    return (struct meters){
        .entries = metric_counter("conversations_audit_sealed_entries_total", NULL,
                                  "Entries of the trail that were sealed"),
        .blocks =
            metric_counter("conversations_audit_blocks_total", NULL, "Blocks of sealed entries"),
        .implausible = metric_counter("conversations_audit_implausible_entries_total", NULL,
                                      "Entries that no service can have appended"),
        .heads = metric_counter("conversations_audit_heads_total", NULL,
                                "Heads of chains that were published"),
        .lag = metric_gauge("conversations_audit_seal_lag_seconds", NULL,
                            "Age of the oldest entry that is not sealed, about"),
    };
}

static void release(struct sealer *self)
{
    bus_free(self->bus);
    db_free(self->db);
    arena_release(&self->arena);
    free(self);
}

static bool open_links(struct sealer *self, const struct service_process *process)
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
        .tls = process->bus_tls,
    });
    return self->db && self->bus;
}

enum status sealer_start(const struct service_process *process, struct signing_key *key,
                         int64_t retention_months)
{
    struct sealer *self = calloc(1, sizeof(*self));

    must(self != NULL && sealer == NULL);
    arena_init(&self->arena, MEMORY_MOST);
    if (!open_links(self, process)) {
        LOG(LOG_ERROR, "DATABASE_URL or NATS_URL cannot be used");
        release(self);
        return ST_REFUSED;
    }
    self->pass.key = key;
    self->retire.months = retention_months;
    self->sealed_until_us = clock_us();
    self->meters = meters_make();
    must(pthread_create(&self->thread, NULL, run, self) == 0);
    sealer = self;
    return ST_OK;
}

void sealer_stop(void)
{
    atomic_store(&sealer->is_stopping, true);
    bus_wake(sealer->bus);
    must(pthread_join(sealer->thread, NULL) == 0);
    release(sealer);
    sealer = NULL;
}
