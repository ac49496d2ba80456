/*
 * read-usage -  what an organization's keys were used for, over time.
 *
 * Answer   ok: {step, points: [...], keys: [...]}; or parameter_invalid, parameter_not_found,
 *          not_found
 * Retry    reads only
 *
 * Served by a separate mailbox, v1.usage: much may have to be read, and gateways do not wait for
 * it.
 */
#include <inttypes.h>

#include "common/wire/fields.h"
#include "common/wire/json.h"
#include "services/access/access.h"
#include "services/access/percentile.h"

#define POINTS_MAX      1500 /* a day by the minute, and some */
#define QUARTER_MINUTES 15   /* kept by the minute and by the quarter of an hour */
#define MINUTE_S        60
#define SECONDS_MAX     (INT32_MAX * INT64_C(2))

enum { AT, OUTCOMES, LATENCY = OUTCOMES + USAGE_OUTCOMES };

struct read_usage {
    struct field_int since, until, step;
    struct params params;
    int64_t first, end, step_minutes; /* minutes */
    size_t of_all, of_keys;           /* statements in the batch */
};

#define SECONDS(member_, from)                                                                     \
    {                                                                                              \
        .name = #member_, .kind = FIELD_INT, .required = true, .min = (from), .max = SECONDS_MAX,  \
        .offset = offsetof(struct read_usage, member_)                                             \
    }

static const struct field fields[] = {SECONDS(since, 0), SECONDS(until, 0), SECONDS(step, 1)};

static enum status parse_range(struct command *command, struct read_usage *usage)
{
    int64_t step = usage->step.value;

    if (step != 60 && step != 900 && step != 3600)
        return command_refuse(command, OUTCOME_PARAMETER_INVALID, "step",
                              "must be 60, 900 or 3600");
    usage->step_minutes = step / MINUTE_S;
    usage->first = usage->since.value / step * usage->step_minutes;
    usage->end = (usage->until.value + step - 1) / step * usage->step_minutes;
    if (usage->end <= usage->first ||
        (usage->end - usage->first) / usage->step_minutes > POINTS_MAX)
        return command_refuse(command, OUTCOME_PARAMETER_INVALID, "until",
                              "must be 1 to %d steps after since", POINTS_MAX);
    return ST_OK;
}

enum status access_read_usage_parse(struct command *command, void *service)
{
    const struct access *self = service;
    struct read_usage *usage = ARENA_NEW(command->arena, struct read_usage);
    const struct access_query *query = access_for_organization(command, SQL_READ_USAGE);

    if (query == NULL)
        return ST_REFUSED;
    if (!fields_read_body(command->body, fields, 3, usage, &command->errors))
        return command_refuse_all(command, fields_outcome(&command->errors));
    if (parse_range(command, usage) != ST_OK)
        return ST_REFUSED;
    usage->params = query->params;
    params_add_int(&usage->params, command->arena, usage->first);
    params_add_int(&usage->params, command->arena, usage->end);
    params_add_int(&usage->params, command->arena, usage->step_minutes);
    params_add_int(&usage->params, command->arena,
                   usage->step_minutes < QUARTER_MINUTES ? 1 : QUARTER_MINUTES);
    params_add_int(&usage->params, command->arena, self->rate_limit_default);
    command->state = usage;
    return ST_OK;
}

void access_read_usage_query(struct command *command, struct db *db, void *service)
{
    struct read_usage *usage = command->state;

    usage->of_all = db_add(db, SQL_READ_USAGE, usage->params.at, 5);
    usage->of_keys = db_add(db, SQL_READ_USAGE_OF_KEYS, usage->params.at, 6);
}

/* -- the answer ------------------------------------------------------------------------------ */

static void write_percentiles(struct buf *out, const int64_t counts[USAGE_BUCKETS])
{
    static const int percents[] = {50, 95, 99};

    buf_add(out, STR(",\"latency_ms\":{"));
    for (size_t i = 0; i < sizeof(percents) / sizeof(percents[0]); i++) {
        int64_t us = percentile_us(counts, percents[i]);

        buf_printf(out, "%s\"p%d\":", i > 0 ? "," : "", percents[i]);
        if (us < 0)
            buf_add(out, STR("null"));
        else
            buf_printf(out, "%" PRId64 ".%03d", us / 1000, (int)(us % 1000));
    }
    buf_char(out, '}');
}

/* The row's counts, or none at all when `row` is past the last. */
static void write_point(struct buf *out, int64_t minute, const struct db_rows *rows, size_t row)
{
    bool is_there = row < db_rows_count(rows);
    int64_t counts[USAGE_BUCKETS] = {0};

    buf_printf(out, "{\"at\":%" PRId64, minute * MINUTE_S);
    for (int i = 0; i < USAGE_OUTCOMES; i++)
        buf_printf(out, ",\"%s\":%" PRId64, usage_outcome_name((enum usage_outcome)i),
                   is_there ? db_value_int(rows, row, OUTCOMES + i) : 0);
    for (int i = 0; i < USAGE_BUCKETS && is_there; i++)
        counts[i] = db_value_int(rows, row, LATENCY + i);
    write_percentiles(out, counts);
    buf_char(out, '}');
}

enum status access_read_usage_reply(struct command *command, struct db *db, void *service)
{
    const struct read_usage *usage = command->state;
    const struct db_rows *rows = db_result(db, usage->of_all);
    const struct db_rows *keys = db_result(db, usage->of_keys);
    struct buf *out = &command->reply;
    size_t row = 0;

    if (db_rows_count(keys) == 0)
        return command_refuse(command, OUTCOME_NOT_FOUND, NULL, "There is no such organization");
    buf_printf(out, "{\"step\":%" PRId64 ",\"points\":[", usage->step.value);
    for (int64_t at = usage->first; at < usage->end; at += usage->step_minutes) {
        bool is_there = row < db_rows_count(rows) && db_value_int(rows, row, AT) == at;

        if (at > usage->first)
            buf_char(out, ',');
        write_point(out, at, rows, is_there ? row : SIZE_MAX);
        row += is_there;
    }
    buf_add(out, STR("],\"keys\":"));
    buf_add(out, db_value(keys, 0, 1));
    buf_char(out, '}');
    return ST_OK;
}
