/*
 * audit.list, audit.entries - one page of an organization's trail, newest first: for the API, which
 * records that it was asked, and for the dashboard.
 *
 * Answer   ok: audit_log.list; or parameter_invalid, invalid_cursor
 * Cursor   the request id of the page's last entry: its time is in it (see the migration)
 * Bound    a page looks at LOOKED_AT_MOST entries: with a filter that seldom matches it may have
 *          fewer than it could, or none, and still say where the next one begins
 */
#include "audit_sql.h"
#include "common/wire/fields.h"
#include "services/audit/audit.h"
#include "services/audit/entry.h"
#include "services/audit/page.h"
#include "services/audit/query.h"

enum { LOOKED_AT_MOST = 5000 };

struct list {
    struct audit_query query;
    struct str binding;
    struct uuid behind; /* the page starts behind this entry, which is at ... */
    int64_t behind_ms;  /* ... this time */
    size_t page;        /* index of the statement */
};

/* What both judges do when the query is read. */
static enum status judge_query(struct command *command, const struct audit *self, struct list *list)
{
    list->binding =
        audit_query_binding(&list->query, &command->caller.organization_id, command->arena);
    /* Behind nothing: the first entry that is before `before`. The nil id sorts before all. */
    list->behind_ms = list->query.before_s * 1000;
    if (list->query.starting_after.p != NULL) {
        if (!page_read(&self->keys, list->binding, list->query.starting_after, &list->behind))
            return page_refuse(command);
        list->behind_ms = uuid_v7_ms(&list->behind);
    }
    command->state = list;
    return ST_OK;
}

enum status audit_list_judge(struct command *command, void *service)
{
    struct list *list = ARENA_NEW(command->arena, struct list);

    if (!audit_query_read(command->query, command->arena, &list->query, &command->problems))
        return command_refuse_all(command, OUTCOME_PARAMETER_INVALID);
    return judge_query(command, service, list);
}

enum status audit_entries_judge(struct command *command, void *service)
{
    struct list *list = ARENA_NEW(command->arena, struct list);

    if (uuid_is_nil(&command->caller.organization_id))
        return command_refuse(command, OUTCOME_PARAMETER_NOT_FOUND, "organization_id",
                              "is required");
    if (!audit_query_read_body(command->body, command->arena, &list->query, &command->problems))
        return command_refuse_all(command, fields_outcome(&command->problems));
    return judge_query(command, service, list);
}

void audit_list_ask(struct command *command, struct db *db, void *service)
{
    struct list *list = command->state;
    const struct audit_query *query = &list->query;
    struct arena *arena = command->arena;
    char organization[UUID_TEXT + 1], behind[UUID_TEXT + 1];

    uuid_format(&command->caller.organization_id, organization);
    uuid_format(&list->behind, behind);
    const db_param params[] = {
        str_of(organization),
        str_of(arena_printf(arena, "%lld", (long long)list->behind_ms)),
        str_of(behind),
        str_of(arena_printf(arena, "%lld", (long long)(query->after_s + 1) * 1000)),
        str_of(arena_printf(arena, "%d", query->per_page + 1)),
        query->operation,
        query->outcome,
        query->api_key_id,
        query->conversation_id,
        str_of(arena_printf(arena, "%d", LOOKED_AT_MOST)),
    };
    list->page = db_add(db, SQL_LIST_ENTRIES, params, sizeof(params) / sizeof(params[0]));
}

enum status audit_list_tell(struct command *command, struct db *db, void *service)
{
    const struct audit *self = service;
    const struct list *list = command->state;
    const struct db_rows *rows = db_result(db, list->page);
    const size_t found = db_rows_count(rows);
    const bool has_limit = found > 0 && db_value_bool(rows, found - 1, ENTRY_COLUMNS);
    const bool has_more = has_limit || found > (size_t)list->query.per_page;
    /* The row too many only says that there is a next page. */
    const size_t shown = has_more ? found - 1 : found;
    struct buf *out = &command->reply;

    buf_add(out, STR("{\"type\":\"audit_log.list\",\"audit_logs\":["));
    for (size_t i = 0; i < shown; i++) {
        if (i > 0)
            buf_char(out, ',');
        entry_write(rows, i, out);
    }
    buf_char(out, ']');
    page_write(&self->keys, list->binding, list->query.per_page,
               has_more ? db_value(rows, has_limit ? found - 1 : shown - 1, ENTRY_REQUEST_ID)
                        : STR_NONE,
               out);
    buf_char(out, '}');
    return ST_OK;
}
