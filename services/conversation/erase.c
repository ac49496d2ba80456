#include "common/db/params.h"
#include "common/json/json.h"
#include "conversation_sql.h"
#include "proto/subject.h"
#include "services/conversation/body.h"
#include "services/conversation/conversation.h"

/* {"id": ..., `what`: true} */
static void reply_done(struct command *command, struct str id, const char *what)
{
    struct buf *out = &command->reply;

    buf_init(out, command->arena, 64);
    buf_char(out, '{');
    json_add_text(out, "id", id);
    json_add_bool(out, what, true);
    buf_char(out, '}');
}

/*
 * conversation.delete - delete a conversation and its messages. Its external id remains taken.
 *
 * Answer   ok: {"id", "deleted": true}; or the errors of the body; not_found
 * Retry    safe: the second attempt is answered not_found
 */

struct delete_command {
    struct str id;
    size_t result;
};

static const struct field delete_fields[] = {
    {.name = "id",
     .kind = FIELD_UUID,
     .required = true,
     .offset = offsetof(struct delete_command, id)},
    FIELDS_END,
};

static enum status delete_parse(struct command *command, void *service)
{
    struct delete_command *body = command->input;

    if (!uuid_parse(body->id, &command->conversation_id))
        return conversation_refuse_absent(command);
    return ST_OK;
}

static void delete_query(struct command *command, struct db *db, void *service)
{
    struct delete_command *body = command->input;
    const struct params *const params = PARAMS(conversation_organization_param(command), body->id);

    body->result = db_add(db, SQL_DELETE_CONVERSATION, params);
    db_add(db, SQL_DELETE_MESSAGES, params);
}

static enum status delete_reply(struct command *command, struct db *db, void *service)
{
    const struct delete_command *body = command->input;
    const struct db_rows *rows = db_result(db, body->result);

    if (db_rows_count(rows) != 1)
        return ST_INTERNAL;
    if (db_value_bool(rows, 0, DELETE_CONVERSATION_IS_LOCKED))
        return ST_RETRY;
    if (!db_value_bool(rows, 0, DELETE_CONVERSATION_IS_DELETED))
        return conversation_refuse_absent(command);
    conversation_note_id(&command->contact_id, db_value(rows, 0, DELETE_CONVERSATION_CONTACT_ID));
    reply_done(command, body->id, "deleted");
    return ST_OK;
}

const struct command_handler conversation_delete = {
    .subject = SUBJECT_CONVERSATION_DELETE,
    .change = CHANGE_CONVERSATION_DELETE,
    .writes = true,
    .needs_organization = true,
    .fields = delete_fields,
    .input_size = sizeof(struct delete_command),
    .parse = delete_parse,
    .query = delete_query,
    .reply = delete_reply,
};

/*
 * conversation.erase-contact - erase a contact's personal data.
 *
 * Answer   ok: {"id", "erased": true}; or the errors of the body; not_found
 * Retry    safe: erasing again changes nothing
 */

struct erase_command {
    struct str id;
    size_t result;
};

static const struct field erase_fields[] = {
    {.name = "id",
     .kind = FIELD_UUID,
     .required = true,
     .offset = offsetof(struct erase_command, id)},
    FIELDS_END,
};

static enum status refuse_unknown(struct command *command)
{
    return command_refuse(command, OUTCOME_NOT_FOUND, NULL, "No such contact");
}

static enum status erase_contact_parse(struct command *command, void *service)
{
    struct erase_command *body = command->input;

    if (!uuid_parse(body->id, &command->contact_id))
        return refuse_unknown(command);
    return ST_OK;
}

static void erase_contact_query(struct command *command, struct db *db, void *service)
{
    struct erase_command *body = command->input;

    body->result =
        db_add(db, SQL_ERASE_CONTACT, PARAMS(conversation_organization_param(command), body->id));
}

static enum status erase_contact_reply(struct command *command, struct db *db, void *service)
{
    const struct erase_command *body = command->input;
    const struct db_rows *rows = db_result(db, body->result);

    if (db_rows_count(rows) != 1)
        return ST_INTERNAL;
    if (db_value_bool(rows, 0, ERASE_CONTACT_IS_LOCKED))
        return ST_RETRY;
    if (db_value(rows, 0, ERASE_CONTACT_WAS_ERASED).p == NULL)
        return refuse_unknown(command);
    command->is_no_change = db_value_bool(rows, 0, ERASE_CONTACT_WAS_ERASED);
    reply_done(command, body->id, "erased");
    return ST_OK;
}

const struct command_handler conversation_erase_contact = {
    .subject = SUBJECT_CONTACT_ERASE,
    .change = CHANGE_CONTACT_ERASE,
    .writes = true,
    .needs_organization = true,
    .fields = erase_fields,
    .input_size = sizeof(struct erase_command),
    .parse = erase_contact_parse,
    .query = erase_contact_query,
    .reply = erase_contact_reply,
};
