#include <inttypes.h>

#include "audit_sql.h"
#include "common/db/params.h"
#include "common/json/json.h"
#include "proto/subject.h"
#include "services/audit/audit.h"
#include "services/audit/audit_query.h"
#include "services/audit/listing.h"

/*
 * audit.changes - one page of the log of changes, newest first.
 *
 * Answer   ok: {"changes": [{id, created_at, who, user_id, change, target, detail, address}...],
 *          "pages"}; or parameter_invalid, invalid_cursor
 * Bound    with a filter, as for a page of the audit log
 */

/* Of a page, and of a row without its detail. */
enum { BYTES_MAX = 256 * 1024, ROW_BYTES = 1024 };

enum { CHANGE_NAME_MAX = 64, WHO_MAX = 255 };

struct changes {
    struct field_int per_page;
    struct str starting_after;
    struct str change, who; /* STR_NONE: any */
    struct str binding;
    struct page_place behind;
    size_t page; /* index of the statement */
};

static const struct field changes_fields[] = {
    {.name = "per_page",
     .kind = FIELD_INT,
     .min = 1,
     .max = AUDIT_PER_PAGE_MAX,
     .offset = offsetof(struct changes, per_page)},
    {.name = "starting_after",
     .kind = FIELD_TEXT,
     .min = 1,
     .max = CURSOR_TEXT_MAX,
     .offset = offsetof(struct changes, starting_after)},
    {.name = "change",
     .kind = FIELD_TEXT,
     .min = 1,
     .max = CHANGE_NAME_MAX,
     .offset = offsetof(struct changes, change)},
    {.name = "who",
     .kind = FIELD_TEXT,
     .min = 1,
     .max = WHO_MAX,
     .offset = offsetof(struct changes, who)},
    FIELDS_END,
};

static enum status changes_parse(struct command *command, void *service)
{
    const struct audit *self = service;
    struct changes *changes = command->input;
    char organization[UUID_TEXT + 1];

    if (!changes->per_page.given)
        changes->per_page.value = AUDIT_PER_PAGE_DEFAULT;
    uuid_format(&command->caller.organization_id, organization);
    /* With their lengths, different pairs of texts never yield the same binding. */
    changes->binding =
        str_of(arena_printf(command->arena, "audit.changes\n%s\n%" PRId64 "\n%zu %.*s\n%zu %.*s\n",
                            organization, changes->per_page.value, changes->change.n,
                            STR_ARG(changes->change), changes->who.n, STR_ARG(changes->who)));
    if (changes->starting_after.p != NULL &&
        !page_read(&self->keys, changes->binding, changes->starting_after, &changes->behind))
        return page_refuse(command);
    return ST_OK;
}

static void changes_query(struct command *command, struct db *db, void *service)
{
    struct changes *changes = command->input;
    const bool is_filtered = changes->change.p != NULL || changes->who.p != NULL;
    const int64_t rows_max = changes->per_page.value + 1;
    char organization[UUID_TEXT + 1], behind[UUID_TEXT + 1];

    uuid_format(&command->caller.organization_id, organization);
    uuid_format(&changes->behind.id, behind);
    changes->page = db_add(
        db, SQL_LIST_CHANGES,
        PARAMS(str_of(organization), changes->starting_after.p != NULL ? str_of(behind) : STR_NONE,
               param_int(command->arena, rows_max), changes->change, changes->who,
               param_int(command->arena, is_filtered ? LOOKED_AT_MAX : rows_max)));
}

static void write_change(struct buf *out, const struct db_rows *rows, size_t row)
{
    buf_char(out, '{');
    json_add_text(out, "id", db_value(rows, row, LIST_CHANGES_ID));
    json_add_integer(out, "created_at", db_value_int(rows, row, LIST_CHANGES_CREATED_AT));
    json_add_text(out, "who", db_value(rows, row, LIST_CHANGES_WHO));
    json_add_text(out, "user_id", db_value(rows, row, LIST_CHANGES_USER_ID));
    json_add_text(out, "change", db_value(rows, row, LIST_CHANGES_CHANGE));
    json_add_text(out, "target", db_value(rows, row, LIST_CHANGES_TARGET));
    json_add_key(out, "detail");
    buf_add(out, db_value(rows, row, LIST_CHANGES_DETAIL));
    json_add_text(out, "address", db_value(rows, row, LIST_CHANGES_ADDRESS));
    buf_char(out, '}');
}

/* How many rows the page has: at most `max`, and none after the page has exceeded BYTES_MAX. */
static size_t shown_of(const struct db_rows *rows, size_t max)
{
    size_t n = 0, bytes = 0;

    while (n < db_rows_count(rows) && n < max && bytes <= BYTES_MAX) {
        bytes += ROW_BYTES + db_value(rows, n, LIST_CHANGES_DETAIL).n;
        n++;
    }
    return n;
}

static const struct looking_columns looking_for_changes = {
    .is_match = LIST_CHANGES_IS_MATCH,
    .is_limit = LIST_CHANGES_IS_LIMIT,
    .looked_at = LIST_CHANGES_LOOKED_AT,
};

static enum status changes_reply(struct command *command, struct db *db, void *service)
{
    const struct audit *self = service;
    const struct changes *changes = command->input;
    const struct db_rows *rows = db_result(db, changes->page);
    size_t shown = shown_of(rows, (size_t)changes->per_page.value);
    const bool is_last = !listing_has_more(rows, shown, &looking_for_changes);
    struct page_place last = {.us = 0};
    struct buf *out = &command->reply;

    command->cost = listing_cost(rows, &looking_for_changes);
    if (shown > 0 && uuid_parse(db_value(rows, shown - 1, LIST_CHANGES_ID), &last.id))
        last.us = uuid_v7_ms(&last.id) * 1000;
    if (shown > 0 && !db_value_bool(rows, shown - 1, LIST_CHANGES_IS_MATCH))
        shown--;

    buf_add(out, STR("{\"changes\":["));
    for (size_t i = 0; i < shown; i++) {
        if (i > 0)
            buf_char(out, ',');
        write_change(out, rows, i);
    }
    buf_char(out, ']');
    page_write(&self->keys, changes->binding, (int)changes->per_page.value, is_last ? NULL : &last,
               out);
    buf_char(out, '}');
    return ST_OK;
}

const struct command_handler audit_changes = {
    .subject = SUBJECT_AUDIT_CHANGES,
    .needs_organization = true,
    .fields = changes_fields,
    .input_size = sizeof(struct changes),
    .may_be_empty = true,
    .parse = changes_parse,
    .query = changes_query,
    .reply = changes_reply,
};
