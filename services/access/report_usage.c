/*
 * report-usage - gateways report which keys were used in a minute, when, and what for.
 *
 * Answer   ok, without a body; or parameter_invalid, parameter_not_found, invalid_json
 * Retry    counts are added: what may have arrived is not sent again
 */
#include "common/db/array.h"
#include "common/wire/fields.h"
#include "proto/usage.h"
#include "services/access/access.h"

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
     .min = 0,
     .max = INT32_MAX,
     .offset = offsetof(struct reported_key, minute)},
    {.name = "latency",
     .kind = FIELD_CUSTOM,
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
};

/* The statement's parameters, as PostgreSQL writes arrays. */
enum { ORGANIZATIONS, KEYS, TIMES, MINUTES, OUTCOMES, LATENCY, COLUMNS };

static void add_key(struct buf columns[COLUMNS], const struct reported_key *key)
{
    array_add_plain(&columns[ORGANIZATIONS], key->organization_id);
    array_add_plain(&columns[KEYS], key->api_key_id);
    array_add_int(&columns[TIMES], key->at.value);
    if (key->minute.given)
        array_add_int(&columns[MINUTES], key->minute.value);
    else
        array_add(&columns[MINUTES], STR_NONE);
    for (size_t i = 0; i < USAGE_OUTCOMES; i++)
        array_add_int(&columns[OUTCOMES], key->outcomes[i].value);
    for (size_t i = 0; i < USAGE_BUCKETS; i++)
        array_add_int(&columns[LATENCY], key->latency[i]);
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
                    key_fields, sizeof(key_fields) / sizeof(key_fields[0]), &key, errors);
        if (errors->n == 0)
            add_key(columns, &key);
    }
}

static const struct field fields[] = {
    {.name = "keys", .kind = FIELD_CUSTOM, .required = true, .read = keys_read},
};

enum status access_report_usage_parse(struct command *command, void *service)
{
    struct access_query *query = ARENA_NEW(command->arena, struct access_query);
    struct buf columns[COLUMNS];

    for (size_t i = 0; i < COLUMNS; i++)
        array_open(&columns[i], command->arena, 1024);
    if (!fields_read_body(command->body, fields, 1, columns, &command->errors))
        return command_refuse_all(command, fields_outcome(&command->errors));
    query->statement = SQL_REPORT_USAGE;
    /* It locks keys, of many organizations, and takes what it can get; commands after it in its
       batch that lock keys would wait while it holds these. */
    command->lock_order = UINT64_MAX;
    for (size_t i = 0; i < COLUMNS; i++)
        params_add(&query->params, array_close(&columns[i]));
    command->state = query;
    return ST_OK;
}
