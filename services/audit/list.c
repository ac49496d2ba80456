/*
 * audit.list, audit.entries - one page of an organization's audit log, newest first: for the API,
 * which records that it was asked, and for the dashboard.
 *
 * Answer   ok: audit_log.list; or parameter_invalid, invalid_cursor
 * Cursor   the place of the page's last entry
 * Bound    a page looks at LOOKED_AT_MAX entries: with a filter that seldom matches it may have
 *          fewer than it could, or none, and still say where the next one begins
 */
/*
 * audit.changes - one page of the log of changes, newest first.
 *
 * Answer   ok: {"changes": [{id, created_at, who, user_id, change, target, detail, address}...],
 *          "pages"}; or parameter_invalid, invalid_cursor
 */

#include "services/audit/list.h"
#include "proto/subject.h"

#include <inttypes.h>
#include <string.h>

#include "audit_sql.h"
#include "common/base/clock.h"
#include "common/json/fields.h"
#include "common/json/json.h"
#include "services/audit/audit.h"
#include "services/audit/audit_query.h"
#include "services/audit/chain.h"

/* A position is an id; with its time behind it, where that is not the one in the id. */
enum { ID_BYTES = sizeof(struct uuid), PLACE_BYTES = ID_BYTES + sizeof(int64_t) };

static int64_t own_us(const struct uuid *id)
{
    return uuid_v7_ms(id) * 1000;
}

/* The last microsecond that an entry can have: before the year 10900. */
#define US_MAX (INT64_C(281803795199) * 1000000 + 999999)

bool page_read_text(struct str text, struct page_place *out)
{
    const struct str id = str_cut(&text, '@');
    uint64_t us;

    if (!uuid_parse(id, &out->id))
        return false;
    out->us = own_us(&out->id);
    if (text.n == 0)
        return true;
    if (!str_to_u64(text, US_MAX, &us))
        return false;
    out->us = (int64_t)us;
    return true;
}

void page_write_us(const struct page_place *place, struct buf *out)
{
    if (place->us != own_us(&place->id) && place->us >= 0 && place->us <= US_MAX)
        json_add_integer(out, "from_us", place->us);
}

bool page_read(const struct cursor_keys *keys, struct str binding, struct str cursor,
               struct page_place *behind)
{
    uint8_t position[CURSOR_POSITION_MAX];
    size_t n;

    if (!cursor_read(keys, binding, cursor, clock_us(), position, &n) ||
        (n != ID_BYTES && n != PLACE_BYTES))
        return false;
    memcpy(&behind->id, position, ID_BYTES);
    behind->us = own_us(&behind->id);
    if (n == PLACE_BYTES)
        memcpy(&behind->us, position + ID_BYTES, sizeof(behind->us));
    return true;
}

enum status page_refuse(struct command *command)
{
    return command_refuse(command, OUTCOME_INVALID_CURSOR, "starting_after",
                          "is not a cursor of this list, or has expired");
}

void page_write(const struct cursor_keys *keys, struct str binding, int per_page,
                const struct page_place *last, struct buf *out)
{
    uint8_t position[PLACE_BYTES];
    char text[CURSOR_TEXT_MAX + 1];

    json_add_key(out, "pages");
    buf_char(out, '{');
    json_add_text(out, "type", STR("pages"));
    json_add_integer(out, "per_page", per_page);
    if (last != NULL) {
        const bool has_own_time = last->us == own_us(&last->id);

        memcpy(position, &last->id, ID_BYTES);
        memcpy(position + ID_BYTES, &last->us, sizeof(last->us));
        cursor_make(keys, binding,
                    (struct str){(const char *)position, has_own_time ? ID_BYTES : PLACE_BYTES},
                    clock_us(), text);
        json_add_key(out, "next");
        buf_char(out, '{');
        json_add_text(out, "starting_after", str_of(text));
        buf_char(out, '}');
    }
    buf_char(out, '}');
}

enum { LOOKED_AT_MAX = 1000 };

/* Looking at so many costs as much as a get. */
enum { ENTRIES_A_UNIT = 25 };

enum list_column { IS_MATCH = ENTRY_COLUMNS, IS_LIMIT, LOOKED_AT };

struct audit_list {
    struct audit_query query;
    struct str binding;
    struct page_place behind;
    size_t page; /* index of the statement */
};

/* What both parse hooks do when the query is read. */
static enum status parse_query(struct command *command, const struct audit *self,
                               struct audit_list *list)
{
    list->binding =
        audit_query_binding(&list->query, &command->caller.organization_id, command->arena);
    /* Behind nothing: the first entry that is before `before`. The nil id sorts before all. */
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
        str_of(arena_printf(arena, "%" PRId64, list->behind.us)),
        str_of(behind),
        str_of(arena_printf(arena, "%" PRId64, (query->after_s + 1) * 1000000)),
        str_of(arena_printf(arena, "%d", query->per_page + 1)),
        query->operation,
        query->outcome,
        query->api_key_id,
        query->conversation_id,
        str_of(arena_printf(arena, "%d", LOOKED_AT_MAX)),
    };
    list->page = db_add(db, SQL_LIST_ENTRIES, params, ARRAY_SIZE(params));
}

static struct page_place place_of(const struct db_rows *rows, size_t row)
{
    struct page_place place = {.us = db_value_int(rows, row, ENTRY_CREATED_US)};

    (void)uuid_parse(db_value(rows, row, ENTRY_REQUEST_ID), &place.id);
    return place;
}

static uint32_t cost_of(const struct db_rows *rows)
{
    const size_t found = db_rows_count(rows);
    const int64_t looked_at = found > 0 ? db_value_int(rows, found - 1, LOOKED_AT) : 0;

    return 1 + (uint32_t)(looked_at / ENTRIES_A_UNIT);
}

static enum status list_reply(struct command *command, struct db *db, void *service)
{
    const struct audit *self = service;
    const struct audit_list *list = command->state;
    const struct db_rows *rows = db_result(db, list->page);
    const size_t found = db_rows_count(rows), max = (size_t)list->query.per_page;
    const bool is_limited = found > 0 && db_value_bool(rows, found - 1, IS_LIMIT);
    /* A row too many only says whether there is a next page. */
    const bool has_more = is_limited || (found > max && db_value_bool(rows, found - 1, IS_MATCH));
    size_t shown = found > max ? max : found;
    struct page_place last = {.us = 0};
    struct buf *out = &command->reply;

    command->cost = cost_of(rows);
    if (has_more)
        last = place_of(rows, shown - 1);
    if (shown > 0 && !db_value_bool(rows, shown - 1, IS_MATCH))
        shown--;
    buf_add(out, STR("{\"type\":\"audit_log.list\",\"audit_logs\":["));
    for (size_t i = 0; i < shown; i++) {
        if (i > 0)
            buf_char(out, ',');
        entry_write(rows, i, out);
    }
    buf_char(out, ']');
    page_write(&self->keys, list->binding, list->query.per_page, has_more ? &last : NULL, out);
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
    FIELDS_END,
};

static enum status changes_parse(struct command *command, void *service)
{
    const struct audit *self = service;
    struct changes *changes = command->input;
    char organization[UUID_TEXT + 1];

    if (!changes->per_page.given)
        changes->per_page.value = PER_PAGE_DEFAULT;
    uuid_format(&command->caller.organization_id, organization);
    changes->binding = str_of(arena_printf(command->arena, "audit.changes\n%s\n%" PRId64 "\n",
                                           organization, changes->per_page.value));
    if (changes->starting_after.p != NULL &&
        !page_read(&self->keys, changes->binding, changes->starting_after, &changes->behind))
        return page_refuse(command);
    return ST_OK;
}

static void changes_query(struct command *command, struct db *db, void *service)
{
    struct changes *changes = command->input;
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

static enum status changes_reply(struct command *command, struct db *db, void *service)
{
    const struct audit *self = service;
    const struct changes *changes = command->input;
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

const struct command_handler audit_changes = {
    .subject = SUBJECT_AUDIT_CHANGES,
    .needs_organization = true,
    .fields = fields,
    .input_size = sizeof(struct changes),
    .may_be_empty = true,
    .parse = changes_parse,
    .query = changes_query,
    .reply = changes_reply,
};
