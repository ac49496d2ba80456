/*
 * deliveries, resend, resend-failed, test - what became of events, and sending once more.
 *
 * Answer   ok: an array of deliveries, newest first; the new delivery; {id, resent: how many,
 *          left: 1 when there are more for another time, since: where to go on then}; or
 *          parameter_invalid, parameter_not_found, not_found, conflict (the endpoint is disabled or
 *          deleted)
 * Notice   v1.notice.events when something is to be sent
 * Retry    resend and test send another one each time; resend-failed leaves out what is queued
 */
/*
 * statistics - how many attempts succeeded and failed, over time.
 *
 * Answer   ok: {"step", "points": [{"at", "delivered", "failed"}...]}, every step of the time, also
 *          where nothing was attempted; or parameter_invalid, parameter_not_found
 */

#include "common/base/clock.h"
#include "common/json/fields.h"
#include "services/webhook/webhook.h"

enum {
    LIMIT_DEFAULT = 50,
    LIMIT_MAX = 1000,
    RESENT_MAX = 10000,
    RESENT_LOOKED_AT = 50000, /* what was sent again already is looked at, too */
};

struct delivery_body {
    struct str id, before;
    struct field_int limit, since;
};

static const struct field id_fields[] = {
    {.name = "id",
     .kind = FIELD_UUID,
     .required = true,
     .offset = offsetof(struct delivery_body, id)},
};

static const struct field list_fields[] = {
    {.name = "id",
     .kind = FIELD_UUID,
     .required = true,
     .offset = offsetof(struct delivery_body, id)},
    {.name = "limit",
     .kind = FIELD_INT,
     .min = 1,
     .max = LIMIT_MAX,
     .offset = offsetof(struct delivery_body, limit)},
    {.name = "before", .kind = FIELD_UUID, .offset = offsetof(struct delivery_body, before)},
};

static const struct field since_fields[] = {
    {.name = "id",
     .kind = FIELD_UUID,
     .required = true,
     .offset = offsetof(struct delivery_body, id)},
    {.name = "since",
     .kind = FIELD_INT,
     .required = true,
     .min = 0,
     .max = INT32_MAX,
     .offset = offsetof(struct delivery_body, since)},
};

/* Reads the body and makes its id the second parameter. NULL: refused. */
static struct webhook_query *read_body(struct command *command, enum webhook_sql statement,
                                       const struct field *fields, size_t n,
                                       struct delivery_body *body)
{
    struct webhook_query *query = webhook_for_organization(command, statement);

    if (query == NULL)
        return NULL;
    *body = (struct delivery_body){0};
    if (!fields_read_body(command->body, fields, n, body, &command->errors)) {
        command_refuse_all(command, fields_outcome(&command->errors));
        return NULL;
    }
    webhook_param_id(query, command->arena, body->id);
    return query;
}

enum status webhook_deliveries_parse(struct command *command, void *service)
{
    struct delivery_body body;
    struct webhook_query *query = read_body(command, SQL_LIST_DELIVERIES, list_fields, 3, &body);

    if (query == NULL)
        return ST_REFUSED;
    params_add_int(&query->params, command->arena,
                   body.limit.given ? body.limit.value : LIMIT_DEFAULT);
    params_add(&query->params, body.before);
    return ST_OK;
}

enum status webhook_resend_parse(struct command *command, void *service)
{
    struct delivery_body body;
    struct webhook_query *query = read_body(command, SQL_RESEND, id_fields, 1, &body);

    if (query == NULL)
        return ST_REFUSED;
    webhook_use_queue(command);
    return ST_OK;
}

enum status webhook_resend_failed_parse(struct command *command, void *service)
{
    struct delivery_body body;
    struct webhook_query *query = read_body(command, SQL_RESEND_FAILED, since_fields, 2, &body);

    if (query == NULL)
        return ST_REFUSED;
    params_add_int(&query->params, command->arena, body.since.value);
    params_add_int(&query->params, command->arena, RESENT_MAX);
    params_add_int(&query->params, command->arena, RESENT_LOOKED_AT);
    return ST_OK;
}

enum status webhook_test_parse(struct command *command, void *service)
{
    const struct uuid event = uuid_v7(clock_us());
    struct delivery_body body;
    struct webhook_query *query = read_body(command, SQL_SEND_TEST, id_fields, 1, &body);

    if (query == NULL)
        return ST_REFUSED;
    webhook_use_queue(command);
    params_add_id(&query->params, command->arena, &event);
    return ST_OK;
}

enum { MINUTE = 60, QUARTER = 900, HOUR = 3600, STEPS_MAX = 1500 };

struct statistics {
    struct field_int since, until, step;
};

static const struct field fields[] = {
    {.name = "since",
     .kind = FIELD_INT,
     .required = true,
     .max = INT32_MAX,
     .offset = offsetof(struct statistics, since)},
    {.name = "until",
     .kind = FIELD_INT,
     .required = true,
     .max = INT32_MAX,
     .offset = offsetof(struct statistics, until)},
    {.name = "step",
     .kind = FIELD_INT,
     .required = true,
     .min = MINUTE,
     .max = HOUR,
     .offset = offsetof(struct statistics, step)},
};

enum status webhook_statistics_parse(struct command *command, void *service)
{
    struct webhook_query *query = webhook_for_organization(command, SQL_READ_STATISTICS);
    struct statistics body = {0};
    int64_t step;

    if (query == NULL)
        return ST_REFUSED;
    if (!fields_read_body(command->body, fields, 3, &body, &command->errors))
        return command_refuse_all(command, fields_outcome(&command->errors));
    step = body.step.value;
    if (step != MINUTE && step != QUARTER && step != HOUR)
        return command_refuse(command, OUTCOME_PARAMETER_INVALID, "step",
                              "must be %d, %d or %d seconds", MINUTE, QUARTER, HOUR);
    if (body.until.value <= body.since.value ||
        (body.until.value + step - 1) / step - body.since.value / step > STEPS_MAX)
        return command_refuse(command, OUTCOME_PARAMETER_INVALID, "until",
                              "must be later than since, by at most %d steps", STEPS_MAX);
    params_add_int(&query->params, command->arena, body.since.value);
    params_add_int(&query->params, command->arena, body.until.value);
    params_add_int(&query->params, command->arena, step);
    return ST_OK;
}
