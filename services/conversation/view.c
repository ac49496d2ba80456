/*
 * inbox.view - one conversation with its messages, for the dashboard.
 *
 * Answer   ok: {"conversation", "messages": [{id, created_at, body}...] in the order in which they
 *          came, the newest MESSAGES_MAX that fit, "erased": its contact was}; or what is wrong
 *          with the body; not_found
 */
#include "common/wire/json.h"
#include "conversation_sql.h"
#include "services/conversation/conversation.h"
#include "services/conversation/conversation_reply.h"

#define MESSAGES_MAX "100"

/* The columns of sql/view.sql behind those of a conversation. */
enum view_column {
    COLUMN_IS_ERASED = CONVERSATION_COLUMNS,
    COLUMN_MESSAGES,
};

struct view {
    struct str id;
    size_t result;
};

static const struct field fields[] = {
    {.name = "id", .kind = FIELD_UUID, .required = true, .offset = offsetof(struct view, id)},
};

enum status conversation_view_parse(struct command *command, void *service)
{
    struct view *const view = ARENA_NEW(command->arena, struct view);

    if (!conversation_read_body(command, fields, 1, view))
        return ST_REFUSED;
    if (!uuid_parse(view->id, &command->conversation_id))
        return conversation_refuse_absent(command);
    command->state = view;
    return ST_OK;
}

void conversation_view_query(struct command *command, struct db *db, void *service)
{
    struct view *const view = command->state;
    const db_param params[] = {conversation_organization_param(command), view->id,
                               STR(MESSAGES_MAX)};

    view->result = db_add(db, SQL_VIEW, params, 3);
}

enum status conversation_view_reply(struct command *command, struct db *db, void *service)
{
    const struct view *const view = command->state;
    const struct db_rows *const rows = db_result(db, view->result);
    struct buf *const out = &command->reply;

    if (db_rows_count(rows) == 0)
        return conversation_refuse_absent(command);
    buf_init(out, command->arena, 2048 + db_value(rows, 0, COLUMN_MESSAGES).n);
    buf_add(out, STR("{\"conversation\":"));
    conversation_write(out, rows, 0, 0);
    json_add_key(out, "messages");
    buf_add(out, db_value(rows, 0, COLUMN_MESSAGES));
    json_add_key(out, "erased");
    buf_add(out, db_value_bool(rows, 0, COLUMN_IS_ERASED) ? STR("true}") : STR("false}"));
    return ST_OK;
}
