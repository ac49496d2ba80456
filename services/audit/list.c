/*
 * audit.list, audit.entries - one page of an organization's audit log, newest first: for the API,
 * which records that it was asked, and for the dashboard.
 *
 * Answer   ok: audit_log.list; or parameter_invalid, invalid_cursor
 * Cursor   the place of the page's last entry
 * Bound    a page looks at LOOKED_AT_MAX entries: with a filter that seldom matches it may have
 *          fewer than it could, or none, and still say where the next one begins
 */
#include <inttypes.h>

#include "audit_sql.h"
#include "common/wire/fields.h"
#include "services/audit/audit.h"
#include "services/audit/audit_query.h"
#include "services/audit/entry.h"
#include "services/audit/page.h"

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

enum status audit_list_parse(struct command *command, void *service)
{
    struct audit_list *list = ARENA_NEW(command->arena, struct audit_list);

    if (!audit_query_read(command->query, command->arena, &list->query, &command->errors))
        return command_refuse_all(command, OUTCOME_PARAMETER_INVALID);
    return parse_query(command, service, list);
}

enum status audit_entries_parse(struct command *command, void *service)
{
    struct audit_list *list = ARENA_NEW(command->arena, struct audit_list);

    if (uuid_is_nil(&command->caller.organization_id))
        return command_refuse(command, OUTCOME_PARAMETER_NOT_FOUND, "organization_id",
                              "is required");
    if (!audit_query_read_body(command->body, command->arena, &list->query, &command->errors))
        return command_refuse_all(command, fields_outcome(&command->errors));
    return parse_query(command, service, list);
}

void audit_list_query(struct command *command, struct db *db, void *service)
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
    list->page = db_add(db, SQL_LIST_ENTRIES, params, sizeof(params) / sizeof(params[0]));
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

enum status audit_list_reply(struct command *command, struct db *db, void *service)
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
