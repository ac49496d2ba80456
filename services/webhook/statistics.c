/*
 * statistics - how many attempts succeeded and failed, over time.
 *
 * Answer   ok: {"step", "points": [{"at", "delivered", "failed"}...]}, every step of the time, also
 *          where nothing was attempted; or parameter_invalid, parameter_not_found
 */
#include "common/wire/fields.h"
#include "services/webhook/webhook.h"

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
