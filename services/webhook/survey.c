/*
 * survey - what monitoring is to know of all organizations together, looked up every few seconds.
 *
 * Every replica tells the same, so that it is told while one of them lives: take the maximum.
 */
#include "common/base/clock.h"
#include "common/base/log.h"
#include "services/webhook/webhook.h"

enum { EVERY_S = 10, PATIENCE_S = 5 };
enum column { OUTBOX_AGE, HEALTHY };

void webhook_survey_open(struct webhook *self)
{
    static const char *const labels[] = {"health=\"healthy\"", "health=\"degraded\"",
                                         "health=\"failing\""};

    self->outbox_age = metric_gauge("conversations_webhook_outbox_age_seconds", NULL,
                                    "Age of the oldest event that is not fanned out");
    for (int i = 0; i < WEBHOOK_HEALTHS; i++)
        self->endpoints[i] = metric_gauge("conversations_webhook_endpoints", labels[i],
                                          "Endpoints that are enabled, by health");
}

void webhook_survey(struct db *db, struct webhook *self)
{
    const struct db_rows *rows;
    size_t index;
    enum status st;

    if (clock_mono_us() < self->survey_due_us || !db_is_up(db))
        return;
    self->survey_due_us = clock_mono_us() + EVERY_S * 1000000LL;
    db_open_batch(db, clock_us() + PATIENCE_S * 1000000LL);
    index = db_add(db, SQL_SURVEY, NULL, 0);
    st = db_commit(db);
    if (st != ST_OK) {
        LOG(LOG_WARNING, "could not survey the outbox", log_str("status", status_name(st)));
        return;
    }
    rows = db_result(db, index);
    metric_set(self->outbox_age, db_value_int(rows, 0, OUTBOX_AGE));
    for (int i = 0; i < WEBHOOK_HEALTHS; i++)
        metric_set(self->endpoints[i], db_value_int(rows, 0, HEALTHY + i));
}
