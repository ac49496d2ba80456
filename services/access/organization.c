/*
 * org-create, org-get, org-list, org-count, org-set - organizations, their plan and their limits.
 *
 * Answer   ok: the organization, an array of them, or their count; or parameter_invalid,
 *          parameter_not_found, not_found
 * Notice   v1.notice.access after a change
 * Retry    org-create makes another organization each time; org-set is idempotent
 */
#include "common/base/clock.h"
#include "common/wire/fields.h"
#include "services/access/access.h"

static const char *const plans[] = {"free", "starter", "growth", "enterprise", NULL};

struct org_create {
    struct str name, plan;
};

static const struct field create_fields[] = {
    {.name = "name",
     .kind = FIELD_FILLED,
     .required = true,
     .min = 1,
     .max = 255,
     .offset = offsetof(struct org_create, name)},
    {.name = "plan",
     .kind = FIELD_CHOICE,
     .choices = plans,
     .offset = offsetof(struct org_create, plan)},
};

enum status access_org_create_parse(struct command *command, void *service)
{
    struct org_create body = {.plan = STR("starter")};
    struct access_query *query;

    if (!fields_read_body(command->body, create_fields, 2, &body, &command->errors))
        return command_refuse_all(command, fields_outcome(&command->errors));

    /* From here on the command belongs to the organization that it makes. */
    command->caller.organization_id = uuid_v7(clock_us());
    query = access_for_organization(command, SQL_CREATE_ORGANIZATION);
    params_add(&query->params, body.name);
    params_add(&query->params, body.plan);
    return ST_OK;
}

enum status access_org_get_parse(struct command *command, void *service)
{
    return access_for_organization(command, SQL_READ_ORGANIZATION) != NULL ? ST_OK : ST_REFUSED;
}

enum status access_org_list_parse(struct command *command, void *service)
{
    struct access_query *query = ARENA_NEW(command->arena, struct access_query);

    query->statement = SQL_LIST_ORGANIZATIONS;
    command->state = query;
    return access_list_before(command, query);
}

struct org_count {
    struct str plan;
};

static const struct field count_fields[] = {
    {.name = "plan",
     .kind = FIELD_CHOICE,
     .choices = plans,
     .offset = offsetof(struct org_count, plan)},
};

enum status access_org_count_parse(struct command *command, void *service)
{
    struct str body = command->body.n > 0 ? command->body : STR("{}");
    struct org_count wanted = {0};
    struct access_query *query;

    if (!fields_read_body(body, count_fields, 1, &wanted, &command->errors))
        return command_refuse_all(command, fields_outcome(&command->errors));
    query = ARENA_NEW(command->arena, struct access_query);
    query->statement = SQL_COUNT_ORGANIZATIONS;
    params_add(&query->params, wanted.plan);
    command->state = query;
    return ST_OK;
}

struct org_set {
    struct str plan;
    struct field_int rate_limit; /* null: back to the default */
};

static const struct field set_fields[] = {
    {.name = "plan",
     .kind = FIELD_CHOICE,
     .choices = plans,
     .offset = offsetof(struct org_set, plan)},
    {.name = "rate_limit",
     .kind = FIELD_INT,
     .nullable = true,
     .min = 1,
     .max = ACCESS_RATE_LIMIT_MAX,
     .offset = offsetof(struct org_set, rate_limit)},
};

enum status access_org_set_parse(struct command *command, void *service)
{
    struct access_query *query = access_for_organization(command, SQL_CHANGE_ORGANIZATION);
    struct org_set body = {0};

    if (query == NULL)
        return ST_REFUSED;
    if (!fields_read_body(command->body, set_fields, 2, &body, &command->errors))
        return command_refuse_all(command, fields_outcome(&command->errors));
    if (body.plan.p == NULL && !body.rate_limit.given && !body.rate_limit.is_null)
        return command_refuse(command, OUTCOME_PARAMETER_NOT_FOUND, NULL,
                              "plan or rate_limit is required");
    params_add(&query->params, body.plan);
    if (body.rate_limit.given)
        params_add_int(&query->params, command->arena, body.rate_limit.value);
    else
        params_add(&query->params, STR_NONE);
    params_add(&query->params, body.rate_limit.is_null ? STR("true") : STR("false"));
    if (body.rate_limit.is_null)
        command_note(command, "rate_limit", STR("default"));
    return ST_OK;
}
