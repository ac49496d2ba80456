/*
 * ended_attempts - claims queued deliveries and records how each attempt ended. Header-only.
 */
#ifndef TESTS_UNIT_SERVICES_WEBHOOK_ENDED_ATTEMPTS_H
#define TESTS_UNIT_SERVICES_WEBHOOK_ENDED_ATTEMPTS_H

#include <stdlib.h>

#include "tests/unit/services/webhook/webhook_fixture.h"

struct ended {
    const char *state, *error, *status; /* SQL expressions */
};

#define SUCCEEDED                                                                                  \
    {                                                                                              \
        "'succeeded'", "NULL::text", "204"                                                         \
    }
#define FAILED                                                                                     \
    {                                                                                              \
        "'failed'", "'http_5xx'", "503"                                                            \
    }
#define TIMED_OUT                                                                                  \
    {                                                                                              \
        "'failed'", "'timeout'", "NULL::int"                                                       \
    }
#define TOO_LATE                                                                                   \
    {                                                                                              \
        "'failed'", "'expired'", "NULL::int"                                                       \
    }

/* The outcomes for complete.sql: `ended` in the order of the claimed deliveries' ids, each 10
   seconds after the one before. */
static inline char *ended_as_json(const struct ended *ended, size_t n)
{
    char text[2048];
    size_t length = 0;

    length += (size_t)snprintf(
        text, sizeof(text),
        "SELECT jsonb_agg(jsonb_build_object('organization_id', organization_id, 'endpoint_id',"
        " endpoint_id, 'id', id, 'fence', fence, 'state', state, 'error', error, 'http_status',"
        " status, 'started_ms', at, 'finished_ms', at) ORDER BY nth)"
        " FROM (SELECT *, row_number() OVER (ORDER BY id) AS nth FROM webhook.queue"
        "        WHERE lease_until IS NOT NULL) AS q JOIN (VALUES ");
    for (size_t i = 0; i < n; i++)
        length += (size_t)snprintf(text + length, sizeof(text) - length,
                                   "%s(%zu, %s, %s, %s, (1700000000 + %zu * 10) * 1000::bigint)",
                                   i > 0 ? ", " : "", i + 1, ended[i].state, ended[i].error,
                                   ended[i].status, i);
    snprintf(text + length, sizeof(text) - length,
             ") AS t (nth, state, error, status, at) USING (nth)");
    return postgres_text(server.url, text);
}

/* Claims and ends exactly `n` deliveries, 9 at most. `waiting_max`: of retries for an endpoint. */
static inline const struct db_rows *end_claimed(const struct ended *ended, size_t n,
                                                const char *waiting_max)
{
    const struct db_rows *rows;
    char *text;

    postgres_do(server.url, "UPDATE webhook.progress SET proven = true");
    for (size_t claimed = 0; claimed < n;) {
        const size_t got =
            db_rows_count(RUN(SQL_CLAIM, "9", "9", "9", "60000", ORG, "{}", "{}", CLAIM_ALL));

        cr_assert_gt(got, 0);
        claimed += got;
        cr_assert_leq(claimed, n);
    }
    text = ended_as_json(ended, n);
    cr_assert_not_null(text);
    rows = RUN(SQL_COMPLETE, text, waiting_max);
    cr_assert_eq(db_value_int(rows, 0, 0), n);
    free(text);
    return rows;
}

#endif
