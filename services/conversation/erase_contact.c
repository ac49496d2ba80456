/*
 * conversation.erase-contact - take a contact's personal data off the record.
 *
 * Answer   ok: {"id", "erased": true}; or what is wrong with the body; not_found
 * Retry    safe: erasing again changes nothing
 */
#include "conversation_sql.h"
#include "services/conversation/conversation.h"
#include "services/conversation/lock_order.h"
#include "services/conversation/reply.h"

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

enum status erase_contact_judge(struct command *command, void *service)
{
    struct erase *const erase = ARENA_NEW(command->arena, struct erase);

    if (!read_operator_body(command, fields, 1, erase))
        return ST_REFUSED;
    if (!uuid_parse(erase->id, &command->contact_id))
        return refuse_unknown(command);
    command->lock_order = lock_order(&command->caller.organization_id, erase->id);
    command->state = erase;
    return ST_OK;
}

void erase_contact_ask(struct command *command, struct db *db, void *service)
{
    struct erase *const erase = command->state;
    const db_param params[] = {organization_param(command), erase->id};

    erase->result = db_add(db, SQL_ERASE_CONTACT, params, 2);
}

enum status erase_contact_tell(struct command *command, struct db *db, void *service)
{
    const struct erase *const erase = command->state;
    const struct db_rows *rows = db_result(db, erase->result);

    if (db_rows_count(rows) == 0)
        return refuse_unknown(command);
    command->is_no_change = db_value_bool(rows, 0, 0);
    buf_init(&command->reply, command->arena, 64);
    buf_printf(&command->reply, "{\"id\":\"%.*s\",\"erased\":true}", STR_ARG(erase->id));
    return ST_OK;
}
