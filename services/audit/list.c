#include "audit_sql.h"
#include "common/db/params.h"
#include "common/json/json.h"
#include "proto/subject.h"
#include "services/audit/audit.h"
#include "services/audit/audit_query.h"
#include "services/audit/listing.h"

/*
 * audit.list, audit.entries - one page of an organization's audit log, newest first. The first is
 * for the API and has an entry itself; the second is for the dashboard.
 *
 * Answer   ok: audit_log.list; or parameter_invalid, invalid_cursor
 * Cursor   the place of the page's last entry
 * Bound    listing.h
 */

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
    list->page =
        db_add(db, SQL_LIST_ENTRIES,
               PARAMS(str_of(organization), param_int(arena, list->behind.us), str_of(behind),
                      param_int(arena, (query->after_s + 1) * 1000000),
                      param_int(arena, query->per_page + 1), query->operation, query->outcome,
                      query->api_key_id, query->conversation_id, param_int(arena, LOOKED_AT_MAX)));
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
    const bool is_last = !listing_has_more(rows, shown, &looking_for_entries);
    struct page_place last = {.us = 0};
    struct buf *out = &command->reply;

    command->cost = listing_cost(rows, &looking_for_entries);
    if (!is_last)
        last = entry_place(rows, shown - 1);
    if (shown > 0 && !db_value_bool(rows, shown - 1, LIST_ENTRIES_IS_MATCH))
        shown--;
    buf_add(out, STR("{\"type\":\"audit_log.list\",\"audit_logs\":"));
    entries_write(out, rows, shown);
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
