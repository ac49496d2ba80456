#include "common/base/cell.h"
#include "common/base/clock.h"
#include "common/base/ip.h"
#include "common/db/params.h"
#include "common/json/fields.h"
#include "proto/subject.h"
#include "services/access/access.h"

/*
 * org-create, org-get, org-cell, org-list, org-count, org-set - organizations, their plans, limits
 * and cells; cell-list - the cells.
 *
 * Answer   ok: the organization, {id, cell}, an array of them, or their count; or parameter_invalid,
 *          parameter_not_found, not_found
 * Notice   v1.notice.access after a change
 * Retry    org-create creates another organization each time; org-set is idempotent
 */

static const char *const plans[] = {"free", "starter", "growth", "enterprise", NULL};

struct org_create {
    struct str name, plan, cell;
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
    {.name = "cell",
     .kind = FIELD_TEXT,
     .max = CELL_NAME_MAX,
     .offset = offsetof(struct org_create, cell)},
    FIELDS_END,
};

static enum status org_create_parse(struct command *command, void *service)
{
    const struct access *self = service;
    const struct org_create *body = command->input;
    struct str cells = str_of(self->cells);
    struct operator_query *query;

    if (body->cell.p != NULL && !cell_is_listed(cells, body->cell))
        return command_refuse(command, OUTCOME_PARAMETER_INVALID, "cell",
                              "must be an existing cell");
    /* From here on the command belongs to the organization that it creates. */
    command->caller.organization_id = uuid_v7(clock_us());
    query = access_for_organization(command, SQL_CREATE_ORGANIZATION);
    params_add(&query->params, body->name);
    params_add(&query->params, body->plan.p != NULL ? body->plan : STR("starter"));
    params_add(&query->params, body->cell.p != NULL ? body->cell : str_cut(&cells, ','));
    return ST_OK;
}

const struct command_handler access_org_create = {
    .subject = SUBJECT_ACCESS_ORG_CREATE,
    .change = CHANGE_ORGANIZATION_CREATE,
    .writes = true,
    .fields = create_fields,
    .input_size = sizeof(struct org_create),
    .parse = org_create_parse,
    .query = operator_query,
    .reply = access_reply_change,
};

static enum status org_get_parse(struct command *command, void *service)
{
    access_for_organization(command, SQL_READ_ORGANIZATION);
    return ST_OK;
}

const struct command_handler access_org_get = {
    .subject = SUBJECT_ACCESS_ORG_GET,
    .needs_organization = true,
    .parse = org_get_parse,
    .query = operator_query,
    .reply = access_reply,
};

static enum status org_cell_parse(struct command *command, void *service)
{
    access_for_organization(command, SQL_READ_CELL);
    return ST_OK;
}

const struct command_handler access_org_cell = {
    .subject = SUBJECT_ACCESS_ORG_CELL,
    .needs_organization = true,
    .parse = org_cell_parse,
    .query = operator_query,
    .reply = access_reply,
};

static enum status org_list_parse(struct command *command, void *service)
{
    const struct operator_list *body = command->input;

    params_add(&operator_query_of(command, SQL_LIST_ORGANIZATIONS)->params, body->before);
    return ST_OK;
}

const struct command_handler access_org_list = {
    .subject = SUBJECT_ACCESS_ORG_LIST,
    .fields = operator_list_fields,
    .input_size = sizeof(struct operator_list),
    .may_be_empty = true,
    .parse = org_list_parse,
    .query = operator_query,
    .reply = access_reply,
};

struct org_count {
    struct str plan;
};

static const struct field count_fields[] = {
    {.name = "plan",
     .kind = FIELD_CHOICE,
     .choices = plans,
     .offset = offsetof(struct org_count, plan)},
    FIELDS_END,
};

static enum status org_count_parse(struct command *command, void *service)
{
    const struct org_count *wanted = command->input;

    params_add(&operator_query_of(command, SQL_COUNT_ORGANIZATIONS)->params, wanted->plan);
    return ST_OK;
}

const struct command_handler access_org_count = {
    .subject = SUBJECT_ACCESS_ORG_COUNT,
    .fields = count_fields,
    .input_size = sizeof(struct org_count),
    .may_be_empty = true,
    .parse = org_count_parse,
    .query = operator_query,
    .reply = access_reply,
};

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
    FIELDS_END,
};

static enum status org_set_parse(struct command *command, void *service)
{
    struct operator_query *query = access_for_organization(command, SQL_CHANGE_ORGANIZATION);
    const struct org_set *body = command->input;

    if (body->plan.p == NULL && !body->rate_limit.given && !body->rate_limit.is_null)
        return command_refuse(command, OUTCOME_PARAMETER_NOT_FOUND, NULL,
                              "plan or rate_limit is required");
    params_add(&query->params, body->plan);
    if (body->rate_limit.given)
        params_add_int(&query->params, command->arena, body->rate_limit.value);
    else
        params_add(&query->params, STR_NONE);
    params_add(&query->params, body->rate_limit.is_null ? STR("true") : STR("false"));
    if (body->rate_limit.is_null)
        command_note(command, "rate_limit", STR("default"));
    return ST_OK;
}

const struct command_handler access_org_set = {
    .subject = SUBJECT_ACCESS_ORG_SET,
    .change = CHANGE_ORGANIZATION_SET,
    .writes = true,
    .needs_organization = true,
    .fields = set_fields,
    .input_size = sizeof(struct org_set),
    .parse = org_set_parse,
    .query = operator_query,
    .reply = access_reply_change,
};

static enum status cell_list_parse(struct command *command, void *service)
{
    const struct access *self = service;
    struct str rest = str_of(self->cells);
    struct buf names;

    array_open(&names, command->arena, 64);
    while (rest.n > 0)
        array_add_plain(&names, str_cut(&rest, ','));
    params_add(&operator_query_of(command, SQL_LIST_CELLS)->params, array_close(&names));
    return ST_OK;
}

const struct command_handler access_cell_list = {
    .subject = SUBJECT_ACCESS_CELL_LIST,
    .parse = cell_list_parse,
    .query = operator_query,
    .reply = access_reply,
};

/*
 * policy-get, policy-set - what an organization requires of a request besides a key.
 *
 * Answer   ok: {require_https, ip_allowlist_enabled, ip_allowlist}; or parameter_invalid,
 *          not_found, would_lock_out if the list would be enabled without the editor's address and
 *          that has not been confirmed
 * Notice   v1.notice.access after a change
 * Retry    idempotent; a given list replaces the whole list
 */

#define ADDRESSES_MAX 1000

static void allowlist_read(json_t *value, const char *path, void *slot, struct errors *errors);

struct policy_set {
    struct field_bool require_https, ip_allowlist_enabled, confirmed;
    struct str editor_address;
    struct str ip_allowlist; /* in PostgreSQL's array syntax */
};

static const struct field fields[] = {
    {.name = "require_https",
     .kind = FIELD_BOOL,
     .offset = offsetof(struct policy_set, require_https)},
    {.name = "ip_allowlist_enabled",
     .kind = FIELD_BOOL,
     .offset = offsetof(struct policy_set, ip_allowlist_enabled)},
    {.name = "ip_allowlist",
     .kind = FIELD_CUSTOM,
     .read = allowlist_read,
     .offset = offsetof(struct policy_set, ip_allowlist)},
    {.name = "confirmed", .kind = FIELD_BOOL, .offset = offsetof(struct policy_set, confirmed)},
    INPUT(policy_set, editor_address, input_address, false),
    FIELDS_END,
};

static bool holds(const struct address *list, size_t n, const struct address *address)
{
    for (size_t i = 0; i < n; i++) {
        if (address_equal(&list[i], address))
            return true;
    }
    return false;
}

static struct str array_text(struct arena *arena, const struct address *list, size_t n)
{
    char text[ADDRESS_TEXT];
    struct buf array;

    array_open(&array, arena, 64);
    for (size_t i = 0; i < n; i++) {
        address_format(&list[i], text);
        array_add_plain(&array, str_of(text));
    }
    return array_close(&array);
}

/* Reads addresses in canonical form, without duplicates, in the order of first occurrence. */
static void allowlist_read(json_t *value, const char *path, void *slot, struct errors *errors)
{
    size_t given = json_array_size(value), n = 0;
    struct address *list;

    if (!json_is_array(value) || given > ADDRESSES_MAX) {
        errors_add(errors, "parameter_invalid", path, "must be an array of at most %d addresses",
                   ADDRESSES_MAX);
        return;
    }
    list = ARENA_ARRAY(errors->arena, struct address, given + 1);
    for (size_t i = 0; i < given; i++) {
        struct address address;

        if (!address_parse(json_text(json_array_get(value, i)), &address))
            errors_add(errors, "parameter_invalid", arena_printf(errors->arena, "%s[%zu]", path, i),
                       "must be one exact IPv4 or IPv6 address");
        else if (!holds(list, n, &address))
            list[n++] = address;
    }
    *(struct str *)slot = array_text(errors->arena, list, n);
}

static struct str bool_text(struct field_bool field)
{
    if (!field.given)
        return STR_NONE;
    return field.value ? STR("true") : STR("false");
}

static enum status policy_get_parse(struct command *command, void *service)
{
    access_for_organization(command, SQL_READ_POLICY);
    return ST_OK;
}

const struct command_handler access_policy_get = {
    .subject = SUBJECT_ACCESS_POLICY_GET,
    .needs_organization = true,
    .parse = policy_get_parse,
    .query = operator_query,
    .reply = access_reply,
};

static enum status policy_set_parse(struct command *command, void *service)
{
    struct operator_query *query = access_for_organization(command, SQL_CHANGE_POLICY);
    const struct policy_set *body = command->input;

    if (!body->require_https.given && !body->ip_allowlist_enabled.given &&
        body->ip_allowlist.p == NULL)
        return command_refuse(command, OUTCOME_PARAMETER_NOT_FOUND, NULL,
                              "require_https, ip_allowlist_enabled or ip_allowlist is required");
    params_add(&query->params, bool_text(body->require_https));
    params_add(&query->params, bool_text(body->ip_allowlist_enabled));
    params_add(&query->params, body->ip_allowlist);
    params_add(&query->params, body->confirmed.value ? STR_NONE : body->editor_address);
    return ST_OK;
}

const struct command_handler access_policy_set = {
    .subject = SUBJECT_ACCESS_POLICY_SET,
    .change = CHANGE_POLICY_SET,
    .writes = true,
    .needs_organization = true,
    .fields = fields,
    .input_size = sizeof(struct policy_set),
    .parse = policy_set_parse,
    .query = operator_query,
    .reply = access_reply_change,
};
