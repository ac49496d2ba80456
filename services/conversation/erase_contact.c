/*
 * conversation.erase-contact - take a contact's personal data off the record.
 *
 * Answer   ok: {"id", "erased": true}; or what is wrong with the body; not_found
 * Retry    safe: erasing again changes nothing
 */
#include "conversation_sql.h"
#include "services/conversation/conversation.h"
#include "services/conversation/conversation_reply.h"

/* The columns of sql/erase_contact.sql. */
enum erase_column {
    COLUMN_IS_LOCKED,
    COLUMN_WAS_ERASED, /* NULL: it was not found */
};

struct erase {
    struct str id;
    size_t result;
};

static const struct field fields[] = {
    {.name = "id", .kind = FIELD_UUID, .required = true, .offset = offsetof(struct erase, id)},
};

static enum status refuse_unknown(struct command *command)
{
    return command_refuse(command, OUTCOME_NOT_FOUND, NULL, "No such contact");
}

enum status conversation_erase_contact_parse(struct command *command, void *service)
{
    struct erase *const erase = ARENA_NEW(command->arena, struct erase);

    if (!conversation_read_body(command, fields, 1, erase))
        return ST_REFUSED;
    if (!uuid_parse(erase->id, &command->contact_id))
        return refuse_unknown(command);
    command->state = erase;
    return ST_OK;
}

void conversation_erase_contact_query(struct command *command, struct db *db, void *service)
{
    struct erase *const erase = command->state;
    const db_param params[] = {conversation_organization_param(command), erase->id};

    erase->result = db_add(db, SQL_ERASE_CONTACT, params, 2);
}

enum status conversation_erase_contact_reply(struct command *command, struct db *db, void *service)
{
    const struct erase *const erase = command->state;
    const struct db_rows *rows = db_result(db, erase->result);

    if (db_rows_count(rows) != 1)
        return ST_INTERNAL;
    if (db_value_bool(rows, 0, COLUMN_IS_LOCKED))
        return ST_RETRY;
    if (db_value(rows, 0, COLUMN_WAS_ERASED).p == NULL)
        return refuse_unknown(command);
    command->is_no_change = db_value_bool(rows, 0, COLUMN_WAS_ERASED);
    buf_init(&command->reply, command->arena, 64);
    buf_printf(&command->reply, "{\"id\":\"%.*s\",\"erased\":true}", STR_ARG(erase->id));
    return ST_OK;
}
