#include <stdio.h>

#include "common/base/clock.h"
#include "common/db/params.h"
#include "services/access/access.h"

enum {
    MINUTES = 10,
    LISTED = 5,
    EVERY_S = 60,
    BUSIEST_TIMEOUT_US = 5 * 1000 * 1000,
};

void access_busiest_open(struct access *self)
{
    self->busiest = metric_gauge_list(
        "conversations_access_organization_responses",
        "Responses to API keys in the last ten minutes, of the organizations with the most");
    self->answers = metric_gauge("conversations_access_responses", NULL,
                                 "Responses to API keys in the last ten minutes, of all");
}

static void show(const struct access *self, const struct db_rows *rows)
{
    struct metric_series series[LISTED];
    size_t n = db_rows_count(rows);

    for (size_t i = 0; i < n && i < LISTED; i++) {
        snprintf(series[i].labels, sizeof(series[i].labels), "organization_id=\"%.*s\"",
                 STR_ARG(db_value(rows, i, LIST_BUSIEST_ORGANIZATION_ID)));
        series[i].value = db_value_int(rows, i, LIST_BUSIEST_ANSWERS);
    }
    metric_list(self->busiest, series, n);
    metric_set(self->answers, n > 0 ? db_value_int(rows, 0, LIST_BUSIEST_ANSWERS_TO_ALL) : 0);
}

enum status access_busiest_read(struct db *db, struct arena *arena, struct access *self)
{
    const int64_t minute = clock_us() / 1000000 / 60;
    struct params params = {0};
    enum status st;

    if (clock_mono_us() < self->busiest_due_us)
        return ST_OK;
    params_add_int(&params, arena, minute - MINUTES);
    params_add_int(&params, arena, minute);
    params_add_int(&params, arena, LISTED);
    st = db_once(db, SQL_LIST_BUSIEST, &params, BUSIEST_TIMEOUT_US);
    if (st != ST_OK)
        return st;
    show(self, db_result(db, 0));
    self->busiest_due_us = clock_mono_us() + EVERY_S * 1000000LL;
    return ST_OK;
}
