/*
 * audit.retain - how many months an organization's audit log is kept at least, whatever the
 * setting.
 *
 * Answer   ok: {"organization_id", "minimum_months"}, the longest that was ever asked for; or
 *          parameter_invalid, parameter_not_found
 * Retry    safe: a minimum can only become longer
 */
#include <inttypes.h>

#include "audit_sql.h"
#include "common/wire/fields.h"
#include "common/wire/json.h"
#include "services/audit/audit.h"

struct set_retention {
    struct field_int months;
    size_t added; /* index of the statement */
};

static const struct field fields[] = {
    {.name = "months",
     .kind = FIELD_INT,
     .required = true,
     .min = 1,
     .max = RETENTION_MONTHS_MAX,
     .offset = offsetof(struct set_retention, months)},
};

enum status audit_set_retention_parse(struct command *command, void *service)
{
    struct set_retention *body = ARENA_NEW(command->arena, struct set_retention);

    if (uuid_is_nil(&command->caller.organization_id))
        return command_refuse(command, OUTCOME_PARAMETER_NOT_FOUND, "organization_id",
                              "is required");
    if (!fields_read_body(command->body, fields, 1, body, &command->errors))
        return command_refuse_all(command, fields_outcome(&command->errors));
    command->state = body;
    return ST_OK;
}

void audit_set_retention_query(struct command *command, struct db *db, void *service)
{
    struct set_retention *body = command->state;
    char organization[UUID_TEXT + 1];

    uuid_format(&command->caller.organization_id, organization);
    const db_param params[] = {
        str_of(organization),
        str_of(arena_printf(command->arena, "%" PRId64, body->months.value)),
    };
    body->added = db_add(db, SQL_ADD_MINIMUM, params, 2);
}

enum status audit_set_retention_reply(struct command *command, struct db *db, void *service)
{
    const struct set_retention *body = command->state;
    const struct db_rows *rows = db_result(db, body->added);
    struct buf *out = &command->reply;

    command->is_no_change = !db_value_bool(rows, 0, 2);
    buf_char(out, '{');
    json_add_text(out, "organization_id", db_value(rows, 0, 0));
    json_add_integer(out, "minimum_months", db_value_int(rows, 0, 1));
    buf_char(out, '}');
    return ST_OK;
}
