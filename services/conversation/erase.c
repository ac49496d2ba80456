/*
 * conversation.delete - delete a conversation and its messages. Its external id stays taken.
 *
 * Answer   ok: {"id", "deleted": true}; or what is wrong with the body; not_found
 * Retry    a second time it is not found
 */
/*
 * conversation.erase-contact - take a contact's personal data off the record.
 *
 * Answer   ok: {"id", "erased": true}; or what is wrong with the body; not_found
 * Retry    safe: erasing again changes nothing
 */

#include "conversation_sql.h"
#include "services/conversation/conversation.h"
#include "services/conversation/conversation_reply.h"

/* The columns of sql/delete_conversation.sql. */
enum delete_column {
    DELETE_IS_LOCKED,
    DELETE_IS_DELETED,
    DELETE_CONTACT_ID,
};

struct delete
{
    struct str id;
    size_t result;
};

static const struct field delete_fields[] = {
    {.name = "id", .kind = FIELD_UUID, .required = true, .offset = offsetof(struct delete, id)},
};

enum status conversation_delete_parse(struct command *command, void *service)
{
    struct delete *const delete = ARENA_NEW(command->arena, struct delete);

    if (!conversation_read_body(command, delete_fields, 1, delete))
        return ST_REFUSED;
    if (!uuid_parse(delete->id, &command->conversation_id))
        return conversation_refuse_absent(command);
    command->state = delete;
    return ST_OK;
}

void conversation_delete_query(struct command *command, struct db *db, void *service)
{
    struct delete *const delete = command->state;
    const db_param params[] = {conversation_organization_param(command), delete->id};

    delete->result = db_add(db, SQL_DELETE_CONVERSATION, params, 2);
    db_add(db, SQL_DELETE_MESSAGES, params, 2);
}

enum status conversation_delete_reply(struct command *command, struct db *db, void *service)
{
    const struct delete *const delete = command->state;
    const struct db_rows *const rows = db_result(db, delete->result);

    if (db_rows_count(rows) != 1)
        return ST_INTERNAL;
    if (db_value_bool(rows, 0, DELETE_IS_LOCKED))
        return ST_RETRY;
    if (!db_value_bool(rows, 0, DELETE_IS_DELETED))
        return conversation_refuse_absent(command);
    conversation_note_id(&command->contact_id, db_value(rows, 0, DELETE_CONTACT_ID));
    buf_init(&command->reply, command->arena, 64);
    buf_printf(&command->reply, "{\"id\":\"%.*s\",\"deleted\":true}", STR_ARG(delete->id));
    return ST_OK;
}

/* The columns of sql/erase_contact.sql. */
enum erase_column {
    ERASE_IS_LOCKED,
    ERASE_WAS_ERASED, /* NULL: it was not found */
};

struct erase {
    struct str id;
    size_t result;
};

static const struct field erase_fields[] = {
    {.name = "id", .kind = FIELD_UUID, .required = true, .offset = offsetof(struct erase, id)},
};

static enum status refuse_unknown(struct command *command)
{
    return command_refuse(command, OUTCOME_NOT_FOUND, NULL, "No such contact");
}

enum status conversation_erase_contact_parse(struct command *command, void *service)
{
    struct erase *const erase = ARENA_NEW(command->arena, struct erase);

    if (!conversation_read_body(command, erase_fields, 1, erase))
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
    if (db_value_bool(rows, 0, ERASE_IS_LOCKED))
        return ST_RETRY;
    if (db_value(rows, 0, ERASE_WAS_ERASED).p == NULL)
        return refuse_unknown(command);
    command->is_no_change = db_value_bool(rows, 0, ERASE_WAS_ERASED);
    buf_init(&command->reply, command->arena, 64);
    buf_printf(&command->reply, "{\"id\":\"%.*s\",\"erased\":true}", STR_ARG(erase->id));
    return ST_OK;
}
