#include "common/base/clock.h"
#include "common/db/params.h"
#include "common/json/fields.h"
#include "proto/subject.h"
#include "services/webhook/webhook.h"

/*
 * deliveries, resend, resend-failed, test - list deliveries, and send events again.
 *
 * Answer   ok: an array of deliveries, newest first; the new delivery; {id, resent: how many,
 *          left: 1 if more remain for another call, since: where that begins}; or
 *          parameter_invalid, parameter_not_found, not_found, conflict (the endpoint is disabled or
 *          deleted)
 * Notice   v1.notice.events if there is something to send
 * Retry    resend and test send another delivery each time; resend-failed skips queued events
 */

enum {
    LIMIT_DEFAULT = 50,
    LIMIT_MAX = 1000,
    RESENT_MAX = 10000,
    RESENT_LOOKED_AT = 50000, /* deliveries to look at, including those resent already */
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
    FIELDS_END,
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
    FIELDS_END,
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
    FIELDS_END,
};

/* A query with the body's id as its second parameter. */
static struct operator_query *query_for(struct command *command, enum webhook_sql statement)
{
    const struct delivery_body *body = command->input;
    struct operator_query *query = operator_query_for(command, (int)statement);

    operator_param_id(query, command->arena, body->id);
    return query;
}

static enum status deliveries_parse(struct command *command, void *service)
{
    const struct delivery_body *body = command->input;
    struct operator_query *query = query_for(command, SQL_LIST_DELIVERIES);

    params_add_int(&query->params, command->arena,
                   body->limit.given ? body->limit.value : LIMIT_DEFAULT);
    params_add(&query->params, body->before);
    return ST_OK;
}

const struct command_handler webhook_deliveries = {
    .subject = SUBJECT_WEBHOOK_DELIVERIES,
    .needs_organization = true,
    .fields = list_fields,
    .input_size = sizeof(struct delivery_body),
    .parse = deliveries_parse,
    .query = operator_query,
    .reply = webhook_reply,
};

static enum status resend_parse(struct command *command, void *service)
{
    struct operator_query *query = query_for(command, SQL_RESEND);

    webhook_use_queue(command, query);
    return ST_OK;
}

const struct command_handler webhook_resend = {
    .subject = SUBJECT_WEBHOOK_RESEND,
    .change = CHANGE_DELIVERY_RESEND,
    .writes = true,
    .needs_organization = true,
    .fields = id_fields,
    .input_size = sizeof(struct delivery_body),
    .parse = resend_parse,
    .query = operator_query,
    .reply = webhook_reply_work,
};

static enum status resend_failed_parse(struct command *command, void *service)
{
    const struct delivery_body *body = command->input;
    struct operator_query *query = query_for(command, SQL_RESEND_FAILED);

    params_add_int(&query->params, command->arena, body->since.value);
    params_add_int(&query->params, command->arena, RESENT_MAX);
    params_add_int(&query->params, command->arena, RESENT_LOOKED_AT);
    return ST_OK;
}

const struct command_handler webhook_resend_failed = {
    .subject = SUBJECT_WEBHOOK_RESEND_FAILED,
    .change = CHANGE_ENDPOINT_RESEND_FAILED,
    .writes = true,
    .needs_organization = true,
    .fields = since_fields,
    .input_size = sizeof(struct delivery_body),
    .parse = resend_failed_parse,
    .query = operator_query,
    .reply = webhook_reply_work,
};

static enum status test_parse(struct command *command, void *service)
{
    const struct uuid event = uuid_v7(clock_us());
    struct operator_query *query = query_for(command, SQL_SEND_TEST);

    webhook_use_queue(command, query);
    params_add_id(&query->params, command->arena, &event);
    return ST_OK;
}

const struct command_handler webhook_test = {
    .subject = SUBJECT_WEBHOOK_TEST,
    .change = CHANGE_ENDPOINT_TEST,
    .writes = true,
    .needs_organization = true,
    .fields = id_fields,
    .input_size = sizeof(struct delivery_body),
    .parse = test_parse,
    .query = operator_query,
    .reply = webhook_reply_work,
};

/*
 * statistics - how many attempts succeeded and failed, over time, and how many were skipped.
 *
 * Answer   ok: {"step", "points": [{"at", "delivered", "failed", "skipped"}...]}, one point for
 *          every step, even without attempts; or parameter_invalid, parameter_not_found
 */

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
    FIELDS_END,
};

static enum status statistics_parse(struct command *command, void *service)
{
    struct operator_query *query = operator_query_for(command, SQL_READ_STATISTICS);
    const struct statistics *body = command->input;
    const int64_t step = body->step.value;

    if (step != MINUTE && step != QUARTER && step != HOUR)
        return command_refuse(command, OUTCOME_PARAMETER_INVALID, "step",
                              "must be %d, %d or %d seconds", MINUTE, QUARTER, HOUR);
    if (body->until.value <= body->since.value ||
        (body->until.value + step - 1) / step - body->since.value / step > STEPS_MAX)
        return command_refuse(command, OUTCOME_PARAMETER_INVALID, "until",
                              "must be later than since, by at most %d steps", STEPS_MAX);
    params_add_int(&query->params, command->arena, body->since.value);
    params_add_int(&query->params, command->arena, body->until.value);
    params_add_int(&query->params, command->arena, step);
    return ST_OK;
}

const struct command_handler webhook_statistics = {
    .subject = SUBJECT_WEBHOOK_STATISTICS,
    .needs_organization = true,
    .fields = fields,
    .input_size = sizeof(struct statistics),
    .parse = statistics_parse,
    .query = operator_query,
    .reply = webhook_reply,
};
