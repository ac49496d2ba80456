#include "proto/subject.h"
#include "services/access/access.h"

#include <inttypes.h>

#include "common/db/params.h"
#include "common/json/fields.h"
#include "common/json/json.h"
#include "proto/outcome.h"

int64_t percentile_us(const int64_t counts[USAGE_BUCKETS], int percent)
{
    int64_t n = 0, below = 0, rank, from, to;
    size_t i = 0;

    for (size_t bucket = 0; bucket < USAGE_BUCKETS; bucket++)
        n += counts[bucket];
    if (n == 0)
        return -1;
    rank = (n * percent + 99) / 100; /* of the request, from 1 */
    while (below + counts[i] < rank)
        below += counts[i++];
    if (i == USAGE_BOUNDS)
        return usage_bound(USAGE_BOUNDS - 1);
    from = i > 0 ? usage_bound(i - 1) : 0;
    to = usage_bound(i);
    return from + (to - from) * (rank - below) / counts[i];
}

/*
 * report-usage - gateways report which keys were used in a minute, when, and with which outcomes.
 *
 * Answer   ok, without a body; or parameter_invalid, parameter_not_found, invalid_json
 * Retry    not safe, because counts are added: a report that may have arrived is not sent again
 */

#define KEYS_MAX  1000 /* in one message */
#define COUNT_MAX 100000000

struct reported_key {
    struct str organization_id, api_key_id;
    struct field_int at, minute;
    struct field_int outcomes[USAGE_OUTCOMES];
    int64_t latency[USAGE_BUCKETS];
};

static void latency_read(json_t *value, const char *path, void *slot, struct errors *errors)
{
    int64_t *latency = slot;
    bool is_good = json_array_size(value) == USAGE_BUCKETS;

    for (size_t i = 0; i < USAGE_BUCKETS && is_good; i++) {
        const json_t *count = json_array_get(value, i);

        latency[i] = json_integer_value(count);
        is_good = json_is_integer(count) && latency[i] >= 0 && latency[i] <= COUNT_MAX;
    }
    if (!is_good)
        errors_add(errors, "parameter_invalid", path, "must be an array of %d counts",
                   USAGE_BUCKETS);
}

static const struct field key_fields[] = {
    {.name = "organization_id",
     .kind = FIELD_UUID,
     .required = true,
     .offset = offsetof(struct reported_key, organization_id)},
    {.name = "api_key_id",
     .kind = FIELD_UUID,
     .required = true,
     .offset = offsetof(struct reported_key, api_key_id)},
    {.name = "at",
     .kind = FIELD_INT,
     .required = true,
     .min = 0,
     .max = INT32_MAX * INT64_C(2),
     .offset = offsetof(struct reported_key, at)},
    {.name = "minute",
     .kind = FIELD_INT,
     .required = true,
     .min = 0,
     .max = INT32_MAX,
     .offset = offsetof(struct reported_key, minute)},
    {.name = "latency",
     .kind = FIELD_CUSTOM,
     .required = true,
     .read = latency_read,
     .offset = offsetof(struct reported_key, latency)},
#define USAGE_OUTCOME(symbol, name_)                                                               \
    {.name = (name_),                                                                              \
     .kind = FIELD_INT,                                                                            \
     .min = 0,                                                                                     \
     .max = COUNT_MAX,                                                                             \
     .offset = offsetof(struct reported_key, outcomes) + (symbol) * sizeof(struct field_int)},
#include "proto/usage.def"
#undef USAGE_OUTCOME
    FIELDS_END,
};

/* The statement's parameters, in PostgreSQL's array syntax. */
enum { ORGANIZATIONS, KEYS, TIMES, MINUTES, REPORT_OUTCOMES, REPORT_LATENCY, COLUMNS };

static void add_key(struct buf columns[COLUMNS], const struct reported_key *key)
{
    array_add_plain(&columns[ORGANIZATIONS], key->organization_id);
    array_add_plain(&columns[KEYS], key->api_key_id);
    array_add_int(&columns[TIMES], key->at.value);
    array_add_int(&columns[MINUTES], key->minute.value);
    for (size_t i = 0; i < USAGE_OUTCOMES; i++)
        array_add_int(&columns[REPORT_OUTCOMES], key->outcomes[i].value);
    for (size_t i = 0; i < USAGE_BUCKETS; i++)
        array_add_int(&columns[REPORT_LATENCY], key->latency[i]);
}

static void keys_read(json_t *value, const char *path, void *slot, struct errors *errors)
{
    struct buf *columns = slot;
    size_t n = json_array_size(value);

    if (!json_is_array(value) || n == 0 || n > KEYS_MAX) {
        errors_add(errors, "parameter_invalid", path, "must be an array of 1 to %d keys", KEYS_MAX);
        return;
    }
    for (size_t i = 0; i < n && errors->n == 0; i++) {
        struct reported_key key = {0};

        fields_read(json_array_get(value, i), arena_printf(errors->arena, "%s[%zu]", path, i),
                    key_fields, &key, errors);
        if (errors->n == 0)
            add_key(columns, &key);
    }
}

static const struct field report_fields[] = {
    {.name = "keys", .kind = FIELD_CUSTOM, .required = true, .read = keys_read},
    FIELDS_END,
};

static enum status report_usage_parse(struct command *command, void *service)
{
    struct operator_query *query = operator_query_of(command, SQL_REPORT_USAGE);
    struct buf columns[COLUMNS];

    for (size_t i = 0; i < COLUMNS; i++)
        array_open(&columns[i], command->arena, 1024);
    if (!fields_read_body(command->body, report_fields, columns, &command->errors))
        return command_refuse_all(command, fields_outcome(&command->errors));
    /* Runs last in its batch: it locks keys of many organizations, those that are free. Commands
       after it would wait for other locks while it holds these. */
    command->lock_order = UINT64_MAX;
    for (size_t i = 0; i < COLUMNS; i++)
        params_add(&query->params, array_close(&columns[i]));
    return ST_OK;
}

const struct command_handler access_report_usage = {
    .subject = SUBJECT_ACCESS_USED,
    .writes = true,
    .parse = report_usage_parse,
    .query = operator_query,
};

/*
 * read-usage - the use of an organization's keys over time.
 *
 * Answer   ok: {step, points: [...], keys: [...]}; or parameter_invalid, parameter_not_found,
 *          not_found
 * Retry    reads only
 *
 * Served by a separate mailbox, v1.usage, because it may read much and gateways must not wait for
 * it.
 */

#define POINTS_MAX      1500 /* a day by the minute, and some more */
#define QUARTER_MINUTES 15   /* usage is kept by the minute and by the quarter of an hour */
#define MINUTE_S        60
#define SECONDS_MAX     (INT32_MAX * INT64_C(2))

_Static_assert(READ_USAGE_LATENCY_1 - READ_USAGE_ALLOWED == USAGE_OUTCOMES,
               "one column for each outcome");
_Static_assert(READ_USAGE_LATENCY_13 - READ_USAGE_LATENCY_1 + 1 == USAGE_BUCKETS,
               "one column for each latency bucket");

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

static const struct field read_fields[] = {SECONDS(since, 0), SECONDS(until, 0), SECONDS(step, 1),
                                           FIELDS_END};

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

static enum status read_usage_parse(struct command *command, void *service)
{
    const struct access *self = service;
    struct read_usage *usage = command->input;
    const struct operator_query *query = access_for_organization(command, SQL_READ_USAGE);

    if (parse_range(command, usage) != ST_OK)
        return ST_REFUSED;
    usage->params = query->params;
    params_add_int(&usage->params, command->arena, usage->first);
    params_add_int(&usage->params, command->arena, usage->end);
    params_add_int(&usage->params, command->arena, usage->step_minutes);
    params_add_int(&usage->params, command->arena,
                   usage->step_minutes < QUARTER_MINUTES ? 1 : QUARTER_MINUTES);
    params_add_int(&usage->params, command->arena, self->rate_limit_default);
    return ST_OK;
}

static void read_usage_query(struct command *command, struct db *db, void *service)
{
    struct read_usage *usage = command->input;

    struct params of_all = usage->params;

    of_all.n--; /* without the last one */
    usage->of_all = db_add(db, SQL_READ_USAGE, &of_all);
    usage->of_keys = db_add(db, SQL_READ_USAGE_OF_KEYS, &usage->params);
}

/* -- the reply ------------------------------------------------------------------------------- */

static void write_percentiles(struct buf *out, const int64_t counts[USAGE_BUCKETS])
{
    static const int percents[] = {50, 95, 99};

    buf_add(out, STR(",\"latency_ms\":{"));
    for (size_t i = 0; i < ARRAY_SIZE(percents); i++) {
        int64_t us = percentile_us(counts, percents[i]);

        buf_printf(out, "%s\"p%d\":", i > 0 ? "," : "", percents[i]);
        if (us < 0)
            buf_add(out, STR("null"));
        else
            buf_printf(out, "%" PRId64 ".%03d", us / 1000, (int)(us % 1000));
    }
    buf_char(out, '}');
}

/* The row's counts, or zeros if `row` is past the last. */
static void write_point(struct buf *out, int64_t minute, const struct db_rows *rows, size_t row)
{
    bool is_there = row < db_rows_count(rows);
    int64_t counts[USAGE_BUCKETS] = {0};

    buf_printf(out, "{\"at\":%" PRId64, minute * MINUTE_S);
    for (int i = 0; i < USAGE_OUTCOMES; i++)
        buf_printf(out, ",\"%s\":%" PRId64, usage_outcome_name((enum usage_outcome)i),
                   is_there ? db_value_int(rows, row, READ_USAGE_ALLOWED + i) : 0);
    for (int i = 0; i < USAGE_BUCKETS && is_there; i++)
        counts[i] = db_value_int(rows, row, READ_USAGE_LATENCY_1 + i);
    write_percentiles(out, counts);
    buf_char(out, '}');
}

static enum status read_usage_reply(struct command *command, struct db *db, void *service)
{
    const struct read_usage *usage = command->input;
    const struct db_rows *rows = db_result(db, usage->of_all);
    const struct db_rows *keys = db_result(db, usage->of_keys);
    struct buf *out = &command->reply;
    size_t row = 0;

    if (db_rows_count(keys) == 0)
        return command_refuse(command, OUTCOME_NOT_FOUND, NULL, "There is no such organization");
    buf_printf(out, "{\"step\":%" PRId64 ",\"points\":[", usage->step.value);
    for (int64_t at = usage->first; at < usage->end; at += usage->step_minutes) {
        bool is_there = row < db_rows_count(rows) && db_value_int(rows, row, READ_USAGE_AT) == at;

        if (at > usage->first)
            buf_char(out, ',');
        write_point(out, at, rows, is_there ? row : SIZE_MAX);
        row += is_there;
    }
    buf_add(out, STR("],\"keys\":"));
    buf_add(out, db_value(keys, 0, READ_USAGE_OF_KEYS_OPERATOR + OPERATOR_REPLY));
    buf_char(out, '}');
    return ST_OK;
}

const struct command_handler access_read_usage = {
    .subject = SUBJECT_USAGE_READ,
    .needs_organization = true,
    .fields = read_fields,
    .input_size = sizeof(struct read_usage),
    .parse = read_usage_parse,
    .query = read_usage_query,
    .reply = read_usage_reply,
};
