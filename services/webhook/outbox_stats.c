/*
 * outbox_stats - what monitoring is to know of all organizations together, looked up every few
 * seconds.
 *
 * Every replica tells the same, so that it is told while one of them lives: take the maximum.
 */
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/db/once.h"
#include "services/webhook/webhook.h"

enum { EVERY_S = 10, TIMEOUT_US = 5 * 1000 * 1000 };
enum { OUTBOX_AGE, HEALTHY };

void webhook_outbox_stats_open(struct webhook *self)
{
    static const char *const labels[] = {"health=\"healthy\"", "health=\"degraded\"",
                                         "health=\"failing\""};

    self->outbox_age = metric_gauge("conversations_webhook_outbox_age_seconds", NULL,
                                    "Age of the oldest event that is not fanned out");
    for (int i = 0; i < WEBHOOK_HEALTHS; i++)
        self->endpoints[i] = metric_gauge("conversations_webhook_endpoints", labels[i],
                                          "Endpoints that are enabled, by health");
}

void webhook_outbox_stats(struct db *db, struct webhook *self)
{
    const struct params none = {0};
    const struct db_rows *rows;
    enum status st;

    if (clock_mono_us() < self->outbox_stats_due_us || !db_is_up(db))
        return;
    self->outbox_stats_due_us = clock_mono_us() + EVERY_S * 1000000LL;
    st = db_once(db, SQL_READ_OUTBOX_STATS, &none, TIMEOUT_US);
    if (st != ST_OK) {
        LOG(LOG_WARNING, "could not collect outbox statistics", log_str("status", status_name(st)));
        return;
    }
    rows = db_result(db, 0);
    metric_set(self->outbox_age, db_value_int(rows, 0, OUTBOX_AGE));
    for (int i = 0; i < WEBHOOK_HEALTHS; i++)
        metric_set(self->endpoints[i], db_value_int(rows, 0, HEALTHY + i));
}
