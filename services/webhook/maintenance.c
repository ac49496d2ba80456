#include <stdio.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/db/params.h"
#include "services/webhook/webhook.h"

/*
 * upkeep - deletes old rows, a step at a time.
 *
 * Each kind of row has a separate transaction: one that held a lock on the log while waiting for
 * the queue could deadlock with a sender that holds the queue and waits for the log.
 */

enum { EVERY_S = 3600, AGAIN_S = 60, BUSY_S = 5, TIMEOUT_S = 10, STEP = 2000 };

static int64_t in_seconds(int64_t seconds)
{
    return clock_mono_us() + seconds * 1000000;
}

static void keep_partitions(struct db *db, struct webhook *self)
{
    const struct db_rows *rows;
    int64_t made, dropped;
    enum status st;

    if (clock_mono_us() < self->upkeep.partitions_due_us)
        return;
    self->upkeep.partitions_due_us = in_seconds(AGAIN_S);
    st = db_once(db, SQL_KEEP_PARTITIONS, NULL, TIMEOUT_S * INT64_C(1000000));
    if (st != ST_OK) {
        LOG(LOG_WARNING, "could not maintain the log's partitions; retrying in one minute",
            log_str("status", status_name(st)));
        return;
    }
    rows = db_result(db, 0);
    made = db_value_int(rows, 0, KEEP_PARTITIONS_MADE);
    dropped = db_value_int(rows, 0, KEEP_PARTITIONS_DROPPED);
    metric_set(self->unpartitioned, db_value_int(rows, 0, KEEP_PARTITIONS_STRAY));
    if (db_value_bool(rows, 0, KEEP_PARTITIONS_BUSY)) {
        self->upkeep.partitions_due_us = in_seconds(BUSY_S);
    } else if (made > 0 || dropped > 0) {
        LOG(LOG_INFO, "maintained the log's partitions", log_int("created", made),
            log_int("dropped", dropped));
        self->upkeep.partitions_due_us = 0;
    } else {
        self->upkeep.partitions_due_us = in_seconds(EVERY_S);
    }
}

static enum status expire_queue(struct db *db, const struct webhook *self,
                                const struct params *step, int64_t *expired)
{
    size_t queue;
    enum status st;

    db_open_batch(db, clock_us() + TIMEOUT_S * INT64_C(1000000));
    db_add(db, SQL_LOCK_QUEUE, NULL);
    queue = db_add(db, SQL_EXPIRE_QUEUE, step);
    st = db_commit(db);
    if (st != ST_OK)
        return st;
    *expired = db_value_int(db_result(db, queue), 0, EXPIRE_QUEUE_EXPIRED);
    metric_add(self->expired, *expired);
    if (*expired > 0)
        LOG(LOG_WARNING, "expired deliveries were skipped", log_int("skipped", *expired));
    return ST_OK;
}

/* Deletes only one step of each kind, because others wait for the queue. */
static enum status tidy(struct db *db, struct arena *arena, const struct webhook *self,
                        bool *has_more)
{
    int64_t events, statistics, expired;
    struct params step = {0};
    enum status st;

    params_add_int(&step, arena, STEP);
    st = db_once(db, SQL_DROP_EVENTS, &step, TIMEOUT_S * INT64_C(1000000));
    if (st != ST_OK)
        return st;
    events = db_value_int(db_result(db, 0), 0, DROP_EVENTS_DROPPED);
    st = db_once(db, SQL_DROP_STATISTICS, &step, TIMEOUT_S * INT64_C(1000000));
    if (st != ST_OK)
        return st;
    statistics = db_value_int(db_result(db, 0), 0, DROP_STATISTICS_DROPPED);
    st = expire_queue(db, self, &step, &expired);
    if (st == ST_OK)
        *has_more = events == STEP || statistics == STEP || expired == STEP;
    return st;
}

void webhook_upkeep(struct db *db, struct arena *arena, void *service)
{
    struct webhook *self = service;
    bool has_more = false;
    enum status st;

    webhook_outbox_stats(db, arena, self);
    webhook_rekey(db, arena, self);
    if (db_is_up(db))
        keep_partitions(db, self);
    webhook_report_failing(db, arena, self);
    if (clock_mono_us() < self->upkeep.tidy_due_us || !db_is_up(db))
        return;
    st = tidy(db, arena, self, &has_more);
    self->upkeep.tidy_due_us = in_seconds(st != ST_OK ? AGAIN_S : has_more ? 0 : EVERY_S);
    if (st != ST_OK)
        LOG(LOG_WARNING, "could not clean up the log and the queue; retrying in one minute",
            log_str("status", status_name(st)));
}

/*
 * outbox_stats - gauges over all organizations, for monitoring, read every few seconds.
 *
 * Every replica reports the same values, so that one live replica is enough: aggregate with max.
 */

enum { STATS_EVERY_S = 10, ALL_EVERY_S = 600, STATS_TIMEOUT_US = 5 * 1000 * 1000 };
_Static_assert(READ_OUTBOX_STATS_FAILING - READ_OUTBOX_STATS_HEALTHY + 1 == WEBHOOK_HEALTHS,
               "one column for each health");

void webhook_outbox_stats_open(struct webhook *self)
{
    static const char *const labels[] = {"health=\"healthy\"", "health=\"degraded\"",
                                         "health=\"failing\""};

    self->outbox_age = metric_gauge("conversations_webhook_outbox_age_seconds", NULL,
                                    "Age of the oldest event that is not fanned out");
    for (int i = 0; i < WEBHOOK_HEALTHS; i++)
        self->endpoints[i] = metric_gauge("conversations_webhook_endpoints", labels[i],
                                          "Endpoints that are enabled, by health");
    self->retries = metric_gauge("conversations_webhook_retries_waiting", NULL,
                                 "Retries that wait until they are due");
    self->failing =
        metric_gauge_list("conversations_webhook_endpoint_failing_seconds",
                          "How long the endpoints that have failed for longest have been failing");
}

/* At the oldest event that waits, but every ten minutes at 0: events that arrive from another cell
   may have lower numbers than those written here. */
static int64_t outbox_from(struct webhook *self)
{
    if (clock_mono_us() < self->outbox_all_due_us)
        return self->outbox_oldest;
    self->outbox_all_due_us = in_seconds(ALL_EVERY_S);
    return 0;
}

static enum status read_outbox_stats(struct db *db, struct arena *arena, struct webhook *self)
{
    struct params from = {0};
    const struct db_rows *rows;
    enum status st;

    params_add_int(&from, arena, outbox_from(self));
    st = db_once(db, SQL_READ_OUTBOX_STATS, &from, STATS_TIMEOUT_US);
    if (st != ST_OK)
        return st;
    rows = db_result(db, 0);
    metric_set(self->outbox_age, db_value_int(rows, 0, READ_OUTBOX_STATS_AGE));
    for (int i = 0; i < WEBHOOK_HEALTHS; i++)
        metric_set(self->endpoints[i], db_value_int(rows, 0, READ_OUTBOX_STATS_HEALTHY + i));
    metric_set(self->retries, db_value_int(rows, 0, READ_OUTBOX_STATS_RETRIES));
    self->outbox_oldest = db_value_int(rows, 0, READ_OUTBOX_STATS_OLDEST);
    return ST_OK;
}

/* Identifies endpoints by id, because a URL can contain a secret. */
static enum status list_failing(struct db *db, struct arena *arena, struct webhook *self)
{
    struct metric_series series[METRIC_LISTED_MAX];
    struct params most = {0};
    const struct db_rows *rows;
    size_t n;
    enum status st;

    params_add_int(&most, arena, METRIC_LISTED_MAX);
    st = db_once(db, SQL_LIST_FAILING, &most, STATS_TIMEOUT_US);
    if (st != ST_OK)
        return st;
    rows = db_result(db, 0);
    n = db_rows_count(rows);
    for (size_t i = 0; i < n && i < METRIC_LISTED_MAX; i++) {
        snprintf(series[i].labels, sizeof(series[i].labels),
                 "organization_id=\"%.*s\",endpoint_id=\"%.*s\"",
                 STR_ARG(db_value(rows, i, LIST_FAILING_ORGANIZATION_ID)),
                 STR_ARG(db_value(rows, i, LIST_FAILING_ID)));
        series[i].value = db_value_int(rows, i, LIST_FAILING_SECONDS);
    }
    metric_list(self->failing, series, n);
    return ST_OK;
}

void webhook_outbox_stats(struct db *db, struct arena *arena, struct webhook *self)
{
    enum status st;

    if (clock_mono_us() < self->outbox_stats_due_us || !db_is_up(db))
        return;
    self->outbox_stats_due_us = in_seconds(STATS_EVERY_S);
    st = read_outbox_stats(db, arena, self);
    if (st == ST_OK)
        st = list_failing(db, arena, self);
    if (st != ST_OK)
        LOG(LOG_WARNING, "could not collect outbox statistics", log_str("status", status_name(st)));
}

/*
 * report_failing - logs endpoints that have failed for so long that their owner has probably not
 * noticed.
 *
 * One replica reports each endpoint, once a day: its row has the time of the last report.
 */

enum { REPORT_EVERY_S = 600, REPORTED_MAX = 100 };

static enum status ask_for_failing(struct db *db, struct arena *arena, size_t *at)
{
    struct params most = {0};

    params_add_int(&most, arena, REPORTED_MAX);
    db_open_batch(db, clock_us() + STATS_TIMEOUT_US);
    db_add(db, SQL_LOCK_QUEUE, NULL);
    *at = db_add(db, SQL_REPORT_FAILING, &most);
    return db_commit(db);
}

void webhook_report_failing(struct db *db, struct arena *arena, struct webhook *self)
{
    const struct db_rows *rows;
    size_t at = 0;
    enum status st;

    if (clock_mono_us() < self->upkeep.report_due_us || !db_is_up(db))
        return;
    self->upkeep.report_due_us = in_seconds(REPORT_EVERY_S);
    st = ask_for_failing(db, arena, &at);
    if (st != ST_OK) {
        LOG(LOG_WARNING, "could not find failing endpoints", log_str("status", status_name(st)));
        return;
    }
    rows = db_result(db, at);
    for (size_t i = 0; i < db_rows_count(rows); i++)
        LOG(LOG_WARNING, "an endpoint has failed for 5 days",
            log_slice("organization_id", db_value(rows, i, REPORT_FAILING_ORGANIZATION_ID)),
            log_slice("endpoint_id", db_value(rows, i, REPORT_FAILING_ID)),
            log_int("failing_since", db_value_int(rows, i, REPORT_FAILING_FAILING_SINCE)),
            log_slice("error", db_value(rows, i, REPORT_FAILING_ERROR)));
}

/*
 * rekey - after a change of the key that seals endpoints' secrets, seals with the new key what the
 * old one sealed.
 *
 * One step each time the actor is idle, once over all endpoints after the process has started.
 * Replicas may do this at the same time: the slower one's update finds that the secret has changed
 * and does nothing.
 */

enum { REKEY_STEP = 200, REKEY_TIMEOUT_US = 5 * 1000 * 1000 };

/* A copy of a row, which is valid only until the next batch. */
struct endpoint_secret {
    struct uuid organization_id, endpoint_id;
    struct str sealed, next_sealed; /* next_sealed is STR_NONE unless a rotation is under way */
};

/* NULL: an id is malformed. */
static struct endpoint_secret *copy_rows(const struct db_rows *rows, struct arena *arena, size_t *n)
{
    struct endpoint_secret *secrets;

    *n = (size_t)db_rows_count(rows);
    secrets = ARENA_ARRAY(arena, struct endpoint_secret, *n + 1);
    for (size_t i = 0; i < *n; i++) {
        if (!uuid_parse(db_value(rows, i, LIST_SECRETS_ORGANIZATION_ID),
                        &secrets[i].organization_id) ||
            !uuid_parse(db_value(rows, i, LIST_SECRETS_ID), &secrets[i].endpoint_id))
            return NULL;
        secrets[i].sealed = arena_str(arena, db_value(rows, i, LIST_SECRETS_SECRET));
        secrets[i].next_sealed = arena_str(arena, db_value(rows, i, LIST_SECRETS_NEXT_SECRET));
    }
    return secrets;
}

static enum status read_step(struct db *db, struct arena *arena, const struct webhook_rekey *from,
                             struct endpoint_secret **secrets, size_t *n)
{
    struct params params = {0};
    enum status st;

    params_add_id(&params, arena, &from->organization_id);
    params_add_id(&params, arena, &from->endpoint_id);
    params_add_int(&params, arena, REKEY_STEP);
    st = db_once(db, SQL_LIST_SECRETS, &params, REKEY_TIMEOUT_US);
    if (st != ST_OK)
        return st;
    *secrets = copy_rows(db_result(db, 0), arena, n);
    return *secrets != NULL ? ST_OK : ST_INTERNAL;
}

/* False: this secret need not be, or cannot be, sealed again. */
static bool add_rekeyed(struct db *db, struct arena *arena, const struct secret_keys *keys,
                        const struct endpoint_secret *of, struct str sealed)
{
    struct params params = {0};
    struct str rekeyed;

    if (sealed.p == NULL)
        return false;
    rekeyed = secret_rekey(keys, arena, &of->organization_id, &of->endpoint_id, sealed);
    if (rekeyed.p == NULL)
        return false;
    params_add_id(&params, arena, &of->organization_id);
    params_add_id(&params, arena, &of->endpoint_id);
    params_add(&params, sealed);
    params_add(&params, rekeyed);
    db_add(db, SQL_REPLACE_SECRET, &params);
    return true;
}

/* One transaction for the step, with the queue's lock: report_failing.sql updates endpoints by ctid, and any
   update moves them. */
static enum status write_step(struct db *db, struct arena *arena, struct webhook *self,
                              const struct endpoint_secret *secrets, size_t n)
{
    int64_t rekeyed = 0;
    enum status st;

    db_open_batch(db, clock_us() + REKEY_TIMEOUT_US);
    db_add(db, SQL_LOCK_QUEUE, NULL);
    for (size_t i = 0; i < n; i++) {
        rekeyed += add_rekeyed(db, arena, &self->keys, &secrets[i], secrets[i].sealed);
        rekeyed += add_rekeyed(db, arena, &self->keys, &secrets[i], secrets[i].next_sealed);
    }
    st = db_commit(db);
    if (st == ST_OK)
        self->rekey.rekeyed += rekeyed;
    return st;
}

void webhook_rekey(struct db *db, struct arena *arena, struct webhook *self)
{
    struct webhook_rekey *rekey = &self->rekey;
    struct endpoint_secret *secrets = NULL;
    size_t n = 0;
    enum status st;

    if (self->keys.n < 2 || rekey->is_done || !db_is_up(db))
        return;
    st = read_step(db, arena, rekey, &secrets, &n);
    if (st == ST_OK && n > 0)
        st = write_step(db, arena, self, secrets, n);
    if (st != ST_OK) {
        LOG(LOG_WARNING, "could not re-encrypt secrets; retrying",
            log_str("status", status_name(st)));
        return;
    }
    if (n > 0) {
        rekey->organization_id = secrets[n - 1].organization_id;
        rekey->endpoint_id = secrets[n - 1].endpoint_id;
    }
    if (n == REKEY_STEP)
        return;
    rekey->is_done = true;
    LOG(LOG_INFO, "all secrets are encrypted with the first key",
        log_int("rekeyed", rekey->rekeyed));
}
