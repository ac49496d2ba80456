/*
 * audit.changes - one page of the log of changes, newest first.
 *
 * Answer   ok: {"changes": [{id, created_at, who, user_id, change, target, detail, address}...],
 *          "pages"}; or parameter_invalid, invalid_cursor
 */
#include <inttypes.h>

#include "audit_sql.h"
#include "common/wire/fields.h"
#include "services/audit/audit.h"
#include "services/audit/page.h"

enum { PER_PAGE_DEFAULT = 50, PER_PAGE_MAX = 100 };

/* Of a page, and of a row of it without its detail. */
enum { BYTES_MAX = 256 * 1024, ROW_BYTES = 1024 };

enum { ID, CREATED_AT, WHO, USER_ID, CHANGE, TARGET, DETAIL, ADDRESS };

struct changes {
    struct field_int per_page;
    struct str starting_after;
    struct str binding;
    struct page_place behind;
    size_t page; /* index of the statement */
};

static const struct field fields[] = {
    {.name = "per_page",
     .kind = FIELD_INT,
     .min = 1,
     .max = PER_PAGE_MAX,
     .offset = offsetof(struct changes, per_page)},
    {.name = "starting_after",
     .kind = FIELD_TEXT,
     .min = 1,
     .max = CURSOR_TEXT_MAX,
     .offset = offsetof(struct changes, starting_after)},
};

enum status audit_changes_parse(struct command *command, void *service)
{
    const struct audit *self = service;
    struct changes *changes = ARENA_NEW(command->arena, struct changes);
    const struct str body = command->body.n > 0 ? command->body : STR("{}");
    char organization[UUID_TEXT + 1];

    if (uuid_is_nil(&command->caller.organization_id))
        return command_refuse(command, OUTCOME_PARAMETER_NOT_FOUND, "organization_id",
                              "is required");
    changes->per_page.value = PER_PAGE_DEFAULT;
    if (!fields_read_body(body, fields, 2, changes, &command->errors))
        return command_refuse_all(command, fields_outcome(&command->errors));
    uuid_format(&command->caller.organization_id, organization);
    changes->binding = str_of(arena_printf(command->arena, "audit.changes\n%s\n%" PRId64 "\n",
                                           organization, changes->per_page.value));
    if (changes->starting_after.p != NULL &&
        !page_read(&self->keys, changes->binding, changes->starting_after, &changes->behind))
        return page_refuse(command);
    command->state = changes;
    return ST_OK;
}

void audit_changes_query(struct command *command, struct db *db, void *service)
{
    struct changes *changes = command->state;
    char organization[UUID_TEXT + 1], behind[UUID_TEXT + 1];

    uuid_format(&command->caller.organization_id, organization);
    uuid_format(&changes->behind.id, behind);
    const db_param params[] = {
        str_of(organization),
        changes->starting_after.p != NULL ? str_of(behind) : STR_NONE,
        str_of(arena_printf(command->arena, "%" PRId64, changes->per_page.value + 1)),
    };
    changes->page = db_add(db, SQL_LIST_CHANGES, params, 3);
}

static void write_change(struct buf *out, const struct db_rows *rows, size_t row)
{
    buf_char(out, '{');
    json_add_text(out, "id", db_value(rows, row, ID));
    json_add_integer(out, "created_at", db_value_int(rows, row, CREATED_AT));
    json_add_text(out, "who", db_value(rows, row, WHO));
    json_add_text(out, "user_id", db_value(rows, row, USER_ID));
    json_add_text(out, "change", db_value(rows, row, CHANGE));
    json_add_text(out, "target", db_value(rows, row, TARGET));
    json_add_key(out, "detail");
    buf_add(out, db_value(rows, row, DETAIL));
    json_add_text(out, "address", db_value(rows, row, ADDRESS));
    buf_char(out, '}');
}

/* The rows of the page: as many as were asked for, and no more bytes than BYTES_MAX behind the
   first. */
static size_t shown_of(const struct db_rows *rows, size_t max)
{
    size_t n = 0, bytes = 0;

    while (n < db_rows_count(rows) && n < max && bytes <= BYTES_MAX) {
        bytes += ROW_BYTES + db_value(rows, n, DETAIL).n;
        n++;
    }
    return n;
}

enum status audit_changes_reply(struct command *command, struct db *db, void *service)
{
    const struct audit *self = service;
    const struct changes *changes = command->state;
    const struct db_rows *rows = db_result(db, changes->page);
    const size_t found = db_rows_count(rows);
    const size_t shown = shown_of(rows, (size_t)changes->per_page.value);
    struct page_place last = {.us = 0};
    struct buf *out = &command->reply;

    if (shown > 0 && uuid_parse(db_value(rows, shown - 1, ID), &last.id))
        last.us = uuid_v7_ms(&last.id) * 1000;

    buf_add(out, STR("{\"changes\":["));
    for (size_t i = 0; i < shown; i++) {
        if (i > 0)
            buf_char(out, ',');
        write_change(out, rows, i);
    }
    buf_char(out, ']');
    page_write(&self->keys, changes->binding, (int)changes->per_page.value,
               found > shown ? &last : NULL, out);
    buf_char(out, '}');
    return ST_OK;
}
