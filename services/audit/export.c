#include "audit_sql.h"
#include "common/db/params.h"
#include "common/json/json.h"
#include "proto/subject.h"
#include "services/audit/audit.h"
#include "services/audit/listing.h"

/*
 * audit.export - the next entries of an organization's audit log, oldest first.
 *
 * Answer   ok: {"entries": [audit_log...], "position": the body of the next step}; no position at
 *          the end. Or parameter_invalid
 * Place    a step begins after the entry with the id `from`, at the time in that id unless
 *          `from_us` gives another
 */

enum { ENTRIES_A_STEP = 1000 };

/* Reading this many costs as much as one get. */
enum { EXPORTED_A_UNIT = 8 };

struct export_body {
    struct field_int after, before; /* Unix seconds, both exclusive */
    struct str from;
    struct field_int from_us; /* its time, if that is not the one in its id */
};

static const struct field export_fields[] = {
    {.name = "after", FIELD_OF_SECONDS, .offset = offsetof(struct export_body, after)},
    {.name = "before", FIELD_OF_SECONDS, .offset = offsetof(struct export_body, before)},
    {.name = "from",
     .kind = FIELD_TEXT,
     .min = 1,
     .max = PAGE_TEXT_MAX,
     .offset = offsetof(struct export_body, from)},
    {.name = "from_us",
     .kind = FIELD_INT,
     .max = UNIX_SECONDS_MAX * 1000000,
     .offset = offsetof(struct export_body, from_us)},
    FIELDS_END,
};

struct audit_export {
    struct export_body body; /* must be first: the fields are read into it */
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

static void export_query(struct command *command, struct db *db, void *service)
{
    struct audit_export *export = command->input;
    const struct export_body *body = &export->body;
    const int64_t after_us = body->after.given ? (body->after.value + 1) * 1000000 : 0;
    const int64_t from_us = body->from_us.given ? body->from_us.value : export->from.us;
    char organization[UUID_TEXT + 1], from[UUID_TEXT + 1];

    uuid_format(&command->caller.organization_id, organization);
    uuid_format(&export->from.id, from);
    /* With the nil id, the step begins with the first entry of that time. */
    export->page = db_add(
        db, SQL_LIST_ENTRIES_FORWARD,
        PARAMS(
            str_of(organization),
            param_int(command->arena, from_us > after_us ? from_us : after_us),
            from_us >= after_us ? str_of(from) : STR("00000000-0000-0000-0000-000000000000"),
            param_int(command->arena,
                      (body->before.given ? body->before.value : UNIX_SECONDS_MAX + 1) * 1000000),
            param_int(command->arena, ENTRIES_A_STEP)));
}

/* The next step begins after the last row. */
static void add_position(struct buf *out, const struct export_body *body,
                         const struct db_rows *rows, size_t last)
{
    const struct page_place place = entry_place(rows, last);

    json_add_key(out, "position");
    buf_char(out, '{');
    json_add_text(out, "from", db_value(rows, last, ENTRY_REQUEST_ID));
    page_write_us(&place, out);
    if (body->before.given)
        json_add_integer(out, "before", body->before.value);
    buf_char(out, '}');
}

static enum status export_reply(struct command *command, struct db *db, void *service)
{
    const struct audit_export *export = command->input;
    const struct db_rows *rows = db_result(db, export->page);
    struct buf *out = &command->reply;
    size_t n = db_rows_count(rows);

    command->cost += (uint32_t)n / EXPORTED_A_UNIT;
    buf_add(out, STR("{\"entries\":"));
    entries_write(out, rows, n);
    if (n == ENTRIES_A_STEP)
        add_position(out, &export->body, rows, n - 1);
    buf_char(out, '}');
    return ST_OK;
}

const struct command_handler audit_export = {
    .subject = SUBJECT_AUDIT_EXPORT,
    .needs_organization = true,
    .fields = export_fields,
    .input_size = sizeof(struct audit_export),
    .may_be_empty = true,
    .parse = export_parse,
    .query = export_query,
    .reply = export_reply,
};
