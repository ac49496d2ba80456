/*
 * audit.export - the next entries of an organization's trail, oldest first.
 *
 * Answer   ok: {"entries": [audit_log...], "position": the body of the next step}; no position at
 *          the end. Or parameter_invalid
 * Place    behind the entry with the id `from`, whose time is in it
 */
#include <inttypes.h>

#include "audit_sql.h"
#include "common/wire/fields.h"
#include "common/wire/json.h"
#include "services/audit/audit.h"
#include "services/audit/entry.h"
#include "services/audit/query.h"

enum { ENTRIES_A_STEP = 1000 };

struct export_body {
    struct field_int after, before; /* Unix seconds, both strict */
    struct str from;
};

static const struct field fields[] = {
    {.name = "after",
     .kind = FIELD_INT,
     .most = AUDIT_SECONDS_MOST,
     .offset = offsetof(struct export_body, after)},
    {.name = "before",
     .kind = FIELD_INT,
     .most = AUDIT_SECONDS_MOST,
     .offset = offsetof(struct export_body, before)},
    {.name = "from", .kind = FIELD_UUID, .offset = offsetof(struct export_body, from)},
};

struct export
{
    struct export_body body;
    struct uuid from;
    size_t page; /* index of the statement */
};

enum status audit_export_judge(struct command *command, void *service)
{
    struct export *export = ARENA_NEW(command->arena, struct export);
    struct str body = command->body.n > 0 ? command->body : STR("{}");

    if (uuid_is_nil(&command->caller.organization_id))
        return command_refuse(command, OUTCOME_PARAMETER_NOT_FOUND, "organization_id",
                              "is required");
    if (!fields_read_body(body, fields, sizeof(fields) / sizeof(fields[0]), &export->body,
                          &command->problems))
        return command_refuse_all(command, fields_outcome(&command->problems));
    if (export->body.from.p != NULL && !uuid_parse(export->body.from, &export->from))
        return command_refuse(command, OUTCOME_PARAMETER_INVALID, "from",
                              "must be the id of an entry");
    command->state = export;
    return ST_OK;
}

static struct str number(struct arena *arena, int64_t value)
{
    return str_of(arena_printf(arena, "%" PRId64, value));
}

void audit_export_ask(struct command *command, struct db *db, void *service)
{
    struct export *export = command->state;
    const struct export_body *body = &export->body;
    const int64_t after_ms = body->after.given ? (body->after.value + 1) * 1000 : 0;
    const int64_t from_ms = body->from.p != NULL ? uuid_v7_ms(&export->from) : 0;
    char organization[UUID_TEXT + 1], from[UUID_TEXT + 1];

    uuid_format(&command->caller.organization_id, organization);
    uuid_format(&export->from, from);
    /* Behind no entry in particular: the nil id sorts before all of its millisecond. */
    const db_param params[] = {
        str_of(organization),
        number(command->arena, from_ms > after_ms ? from_ms : after_ms),
        from_ms >= after_ms ? str_of(from) : STR("00000000-0000-0000-0000-000000000000"),
        number(command->arena,
               (body->before.given ? body->before.value : AUDIT_SECONDS_MOST + 1) * 1000),
        number(command->arena, ENTRIES_A_STEP),
    };
    export->page = db_add(db, SQL_LIST_ENTRIES_FORWARD, params, sizeof(params) / sizeof(params[0]));
}

static void add_position(struct buf *out, const struct export_body *body, struct str from)
{
    json_add_key(out, "position");
    buf_char(out, '{');
    json_add_text(out, "from", from);
    if (body->before.given) {
        json_add_integer(out, "before", body->before.value);
    }
    buf_char(out, '}');
}

enum status audit_export_tell(struct command *command, struct db *db, void *service)
{
    const struct export *export = command->state;
    const struct db_rows *rows = db_result(db, export->page);
    struct buf *out = &command->reply;
    size_t n = db_rows_count(rows);

    buf_add(out, STR("{\"entries\":["));
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            buf_char(out, ',');
        entry_write(rows, i, out);
    }
    buf_char(out, ']');
    if (n == ENTRIES_A_STEP)
        add_position(out, &export->body, db_value(rows, n - 1, ENTRY_REQUEST_ID));
    buf_char(out, '}');
    return ST_OK;
}
