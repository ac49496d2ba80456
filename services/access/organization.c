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
     .least = 1,
     .most = 255,
     .offset = offsetof(struct org_create, name)},
    {.name = "plan",
     .kind = FIELD_CHOICE,
     .choices = plans,
     .offset = offsetof(struct org_create, plan)},
};

enum status org_create_judge(struct command *command, void *service)
{
    struct org_create body = {.plan = STR("starter")};
    struct access_ask *ask;

    if (!fields_read_body(command->body, create_fields, 2, &body, &command->problems))
        return command_refuse_all(command, fields_outcome(&command->problems));

    /* From here on the command belongs to the organization that it makes. */
    command->caller.organization_id = uuid_v7(clock_us());
    ask = access_for_organization(command, SQL_CREATE_ORGANIZATION);
    params_add(&ask->params, body.name);
    params_add(&ask->params, body.plan);
    return ST_OK;
}

enum status org_get_judge(struct command *command, void *service)
{
    return access_for_organization(command, SQL_READ_ORGANIZATION) != NULL ? ST_OK : ST_REFUSED;
}

enum status org_list_judge(struct command *command, void *service)
{
    struct access_ask *ask = ARENA_NEW(command->arena, struct access_ask);

    ask->statement = SQL_LIST_ORGANIZATIONS;
    command->state = ask;
    return access_list_before(command, ask);
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

enum status org_count_judge(struct command *command, void *service)
{
    struct str body = command->body.n > 0 ? command->body : STR("{}");
    struct org_count wanted = {0};
    struct access_ask *ask;

    if (!fields_read_body(body, count_fields, 1, &wanted, &command->problems))
        return command_refuse_all(command, fields_outcome(&command->problems));
    ask = ARENA_NEW(command->arena, struct access_ask);
    ask->statement = SQL_COUNT_ORGANIZATIONS;
    params_add(&ask->params, wanted.plan);
    command->state = ask;
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
     .least = 1,
     .most = ACCESS_RATE_LIMIT_MOST,
     .offset = offsetof(struct org_set, rate_limit)},
};

enum status org_set_judge(struct command *command, void *service)
{
    struct access_ask *ask = access_for_organization(command, SQL_CHANGE_ORGANIZATION);
    struct org_set body = {0};

    if (ask == NULL)
        return ST_REFUSED;
    if (!fields_read_body(command->body, set_fields, 2, &body, &command->problems))
        return command_refuse_all(command, fields_outcome(&command->problems));
    if (body.plan.p == NULL && !body.rate_limit.given && !body.rate_limit.is_null)
        return command_refuse(command, OUTCOME_PARAMETER_NOT_FOUND, NULL,
                              "plan or rate_limit is required");
    params_add(&ask->params, body.plan);
    if (body.rate_limit.given)
        params_add_int(&ask->params, command->arena, body.rate_limit.value);
    else
        params_add(&ask->params, STR_NONE);
    params_add(&ask->params, body.rate_limit.is_null ? STR("true") : STR("false"));
    if (body.rate_limit.is_null)
        command_note(command, "rate_limit", STR("default"));
    return ST_OK;
}
