/*
 * audit.export - the next entries of an organization's audit log, oldest first.
 *
 * Answer   ok: {"entries": [audit_log...], "position": the body of the next step}; no position at
 *          the end. Or parameter_invalid
 * Place    behind the entry with the id `from`, whose time is in it unless it says so
 */
#include <inttypes.h>

#include "audit_sql.h"
#include "common/json/fields.h"
#include "common/json/json.h"
#include "proto/subject.h"
#include "services/audit/audit.h"
#include "services/audit/audit_query.h"
#include "services/audit/chain.h"
#include "services/audit/list.h"

enum { ENTRIES_A_STEP = 1000 };

/* Reading so many costs as much as a get. */
enum { ENTRIES_A_UNIT = 8 };

struct export_body {
    struct field_int after, before; /* Unix seconds, both strict */
    struct str from;
    struct field_int from_us; /* its time, where that is not the one in its id */
};

static const struct field fields[] = {
    {.name = "after",
     .kind = FIELD_INT,
     .max = AUDIT_SECONDS_MAX,
     .offset = offsetof(struct export_body, after)},
    {.name = "before",
     .kind = FIELD_INT,
     .max = AUDIT_SECONDS_MAX,
     .offset = offsetof(struct export_body, before)},
    {.name = "from",
     .kind = FIELD_TEXT,
     .min = 1,
     .max = PAGE_TEXT_MAX,
     .offset = offsetof(struct export_body, from)},
    {.name = "from_us",
     .kind = FIELD_INT,
     .max = AUDIT_SECONDS_MAX * 1000000,
     .offset = offsetof(struct export_body, from_us)},
    FIELDS_END,
};

struct audit_export {
    struct export_body body; /* first: what the fields are read into */
    struct page_place from;
    size_t page; /* index of the statement */
};

static enum status export_parse(struct command *command, void *service)
{
    struct audit_export *export = command->input;

    if (export->body.from.p != NULL && !page_read_text(export->body.from, &export->from))
        return command_refuse(command, OUTCOME_PARAMETER_INVALID, "from",
                              "must be the position of an entry");
    return ST_OK;
}

static struct str number(struct arena *arena, int64_t value)
{
    return str_of(arena_printf(arena, "%" PRId64, value));
}

static void export_query(struct command *command, struct db *db, void *service)
{
    struct audit_export *export = command->input;
    const struct export_body *body = &export->body;
    const int64_t after_us = body->after.given ? (body->after.value + 1) * 1000000 : 0;
    const int64_t from_us = body->from_us.given ? body->from_us.value : export->from.us;
    char organization[UUID_TEXT + 1], from[UUID_TEXT + 1];

    uuid_format(&command->caller.organization_id, organization);
    uuid_format(&export->from.id, from);
    /* Behind no entry in particular: the nil id sorts before all of its millisecond. */
    const db_param params[] = {
        str_of(organization),
        number(command->arena, from_us > after_us ? from_us : after_us),
        from_us >= after_us ? str_of(from) : STR("00000000-0000-0000-0000-000000000000"),
        number(command->arena,
               (body->before.given ? body->before.value : AUDIT_SECONDS_MAX + 1) * 1000000),
        number(command->arena, ENTRIES_A_STEP),
    };
    export->page = db_add(db, SQL_LIST_ENTRIES_FORWARD, params, ARRAY_SIZE(params));
}

/* Behind the last row. */
static void add_position(struct buf *out, const struct export_body *body,
                         const struct db_rows *rows, size_t last)
{
    const struct str from = db_value(rows, last, ENTRY_REQUEST_ID);
    struct page_place place = {.us = db_value_int(rows, last, ENTRY_CREATED_US)};

    json_add_key(out, "position");
    buf_char(out, '{');
    json_add_text(out, "from", from);
    (void)uuid_parse(from, &place.id);
    page_write_us(&place, out);
    if (body->before.given) {
        json_add_integer(out, "before", body->before.value);
    }
    buf_char(out, '}');
}

static enum status export_reply(struct command *command, struct db *db, void *service)
{
    const struct audit_export *export = command->input;
    const struct db_rows *rows = db_result(db, export->page);
    struct buf *out = &command->reply;
    size_t n = db_rows_count(rows);

    command->cost += (uint32_t)n / ENTRIES_A_UNIT;
    buf_add(out, STR("{\"entries\":["));
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            buf_char(out, ',');
        entry_write(rows, i, out);
    }
    buf_char(out, ']');
    if (n == ENTRIES_A_STEP)
        add_position(out, &export->body, rows, n - 1);
    buf_char(out, '}');
    return ST_OK;
}

const struct command_handler audit_export = {
    .subject = SUBJECT_AUDIT_EXPORT,
    .needs_organization = true,
    .fields = fields,
    .input_size = sizeof(struct audit_export),
    .may_be_empty = true,
    .parse = export_parse,
    .query = export_query,
    .reply = export_reply,
};
