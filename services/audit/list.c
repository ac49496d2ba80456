/* Pages of the audit log and of the log of changes, and the steps of an export. */

#include <inttypes.h>

#include "audit_sql.h"
#include "common/json/json.h"
#include "proto/subject.h"
#include "services/audit/audit.h"
#include "services/audit/audit_query.h"

/* -- audit.list, audit.entries ----------------------------------------------------------------- */

/*
 * audit.list, audit.entries - one page of an organization's audit log, newest first. The first is
 * for the API and has an entry itself; the second is for the dashboard.
 *
 * Answer   ok: audit_log.list; or parameter_invalid, invalid_cursor
 * Cursor   the place of the page's last entry
 * Bound    a page looks at LOOKED_AT_MAX entries: if a filter seldom matches, it may have fewer
 *          than per_page entries, or none, and still a cursor for the next page
 */

enum { LOOKED_AT_MAX = 1000 };

/* Looking at this many costs as much as one get. */
enum { ENTRIES_A_UNIT = 25 };

static struct str number(struct arena *arena, int64_t value)
{
    return str_of(arena_printf(arena, "%" PRId64, value));
}

_Static_assert(LIST_ENTRIES_ENTRY == 0 && LIST_ENTRIES_FORWARD_ENTRY == 0,
               "entry_write() and place_of() expect the entry columns first");

struct audit_list {
    struct audit_query query;
    struct str binding;
    struct page_place behind;
    size_t page; /* index of the statement */
};

/* The end of both parse hooks, after they have read the query. */
static enum status parse_query(struct command *command, const struct audit *self,
                               struct audit_list *list)
{
    list->binding =
        audit_query_binding(&list->query, &command->caller.organization_id, command->arena);
    /* The first page has entries before `before`: the nil id sorts before all of that time. */
    list->behind.us = list->query.before_s * 1000000;
    if (list->query.starting_after.p != NULL &&
        !page_read(&self->keys, list->binding, list->query.starting_after, &list->behind))
        return page_refuse(command);
    command->state = list;
    return ST_OK;
}

static enum status list_parse(struct command *command, void *service)
{
    struct audit_list *list = ARENA_NEW(command->arena, struct audit_list);

    if (!audit_query_read(command->query, command->arena, &list->query, &command->errors))
        return command_refuse_all(command, OUTCOME_PARAMETER_INVALID);
    return parse_query(command, service, list);
}

static enum status entries_parse(struct command *command, void *service)
{
    struct audit_list *list = ARENA_NEW(command->arena, struct audit_list);

    if (!audit_query_read_body(command->body, command->arena, &list->query, &command->errors))
        return command_refuse_all(command, fields_outcome(&command->errors));
    return parse_query(command, service, list);
}

static void list_query(struct command *command, struct db *db, void *service)
{
    struct audit_list *list = command->state;
    const struct audit_query *query = &list->query;
    struct arena *arena = command->arena;
    char organization[UUID_TEXT + 1], behind[UUID_TEXT + 1];

    uuid_format(&command->caller.organization_id, organization);
    uuid_format(&list->behind.id, behind);
    const db_param params[] = {
        str_of(organization),
        number(arena, list->behind.us),
        str_of(behind),
        number(arena, (query->after_s + 1) * 1000000),
        number(arena, query->per_page + 1),
        query->operation,
        query->outcome,
        query->api_key_id,
        query->conversation_id,
        number(arena, LOOKED_AT_MAX),
    };
    list->page = db_add(db, SQL_LIST_ENTRIES, params, ARRAY_SIZE(params));
}

static struct page_place place_of(const struct db_rows *rows, size_t row)
{
    struct page_place place = {.us = db_value_int(rows, row, ENTRY_CREATED_US)};

    (void)uuid_parse(db_value(rows, row, ENTRY_REQUEST_ID), &place.id);
    return place;
}

/* The first n rows. */
static void write_entries(struct buf *out, const struct db_rows *rows, size_t n)
{
    buf_char(out, '[');
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            buf_char(out, ',');
        entry_write(rows, i, out);
    }
    buf_char(out, ']');
}

/* The columns that tell how the rows of a page were found. */
struct looking_columns {
    int is_match, is_limit, looked_at;
};

static uint32_t cost_of(const struct db_rows *rows, const struct looking_columns *columns)
{
    const size_t found = db_rows_count(rows);
    const int64_t looked_at = found > 0 ? db_value_int(rows, found - 1, columns->looked_at) : 0;

    return 1 + (uint32_t)(looked_at / ENTRIES_A_UNIT);
}

/* Whether more follow the first `n` rows: rows that were read, or rows that were not looked at. The
   last row that was read counts only if it matches. */
static bool has_more(const struct db_rows *rows, size_t n, const struct looking_columns *columns)
{
    const size_t found = db_rows_count(rows);

    if (found == 0)
        return false;
    return db_value_bool(rows, found - 1, columns->is_limit) || found > n + 1 ||
           (found > n && db_value_bool(rows, found - 1, columns->is_match));
}

static const struct looking_columns looking_for_entries = {
    .is_match = LIST_ENTRIES_IS_MATCH,
    .is_limit = LIST_ENTRIES_IS_LIMIT,
    .looked_at = LIST_ENTRIES_LOOKED_AT,
};

static enum status list_reply(struct command *command, struct db *db, void *service)
{
    const struct audit *self = service;
    const struct audit_list *list = command->state;
    const struct db_rows *rows = db_result(db, list->page);
    const size_t found = db_rows_count(rows), max = (size_t)list->query.per_page;
    size_t shown = found > max ? max : found;
    const bool is_last = !has_more(rows, shown, &looking_for_entries);
    struct page_place last = {.us = 0};
    struct buf *out = &command->reply;

    command->cost = cost_of(rows, &looking_for_entries);
    if (!is_last)
        last = place_of(rows, shown - 1);
    if (shown > 0 && !db_value_bool(rows, shown - 1, LIST_ENTRIES_IS_MATCH))
        shown--;
    buf_add(out, STR("{\"type\":\"audit_log.list\",\"audit_logs\":"));
    write_entries(out, rows, shown);
    page_write(&self->keys, list->binding, list->query.per_page, is_last ? NULL : &last, out);
    buf_char(out, '}');
    return ST_OK;
}

const struct command_handler audit_entries = {
    .subject = SUBJECT_AUDIT_ENTRIES,
    .needs_organization = true,
    .parse = entries_parse,
    .query = list_query,
    .reply = list_reply,
};

const struct command_handler audit_list = {
    .subject = SUBJECT_AUDIT_LIST,
    .operation = OP_AUDIT_LIST,
    .parse = list_parse,
    .query = list_query,
    .reply = list_reply,
};

/* -- audit.export ------------------------------------------------------------------------------ */

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
    const db_param params[] = {
        str_of(organization),
        number(command->arena, from_us > after_us ? from_us : after_us),
        from_us >= after_us ? str_of(from) : STR("00000000-0000-0000-0000-000000000000"),
        number(command->arena,
               (body->before.given ? body->before.value : UNIX_SECONDS_MAX + 1) * 1000000),
        number(command->arena, ENTRIES_A_STEP),
    };
    export->page = db_add(db, SQL_LIST_ENTRIES_FORWARD, params, ARRAY_SIZE(params));
}

/* The next step begins after the last row. */
static void add_position(struct buf *out, const struct export_body *body,
                         const struct db_rows *rows, size_t last)
{
    const struct page_place place = place_of(rows, last);

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
    write_entries(out, rows, n);
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

/* -- audit.changes ----------------------------------------------------------------------------- */

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
    const db_param params[] = {
        str_of(organization),
        changes->starting_after.p != NULL ? str_of(behind) : STR_NONE,
        number(command->arena, rows_max),
        changes->change,
        changes->who,
        number(command->arena, is_filtered ? LOOKED_AT_MAX : rows_max),
    };
    changes->page = db_add(db, SQL_LIST_CHANGES, params, ARRAY_SIZE(params));
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
    const bool is_last = !has_more(rows, shown, &looking_for_changes);
    struct page_place last = {.us = 0};
    struct buf *out = &command->reply;

    command->cost = cost_of(rows, &looking_for_changes);
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
