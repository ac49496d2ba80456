#include "common/base/ascii.h"
#include "common/base/text.h"
#include "common/db/params.h"
#include "common/model/conversation_model.h"
#include "conversation_sql.h"
#include "proto/subject.h"
#include "services/conversation/body.h"
#include "services/conversation/conversation.h"

/*
 * conversation.open - record a conversation of another channel.
 *
 * Answer   ok: the conversation; or the errors of the body; customer_profile_conflict
 * Event    conversation.created for the channel `widget`, through the outbox
 * Retry    creates another conversation each time
 */

enum { CHANNEL_MAX = 32 };

struct open {
    struct str channel, contact_external_id, contact_email, status;
    size_t result;
};

static void read_channel(json_t *value, const char *path, void *slot, struct errors *errors)
{
    const struct str text = json_text(value);
    bool is_channel = text.n >= 1 && text.n <= CHANNEL_MAX && !str_equal(text, STR("api"));

    for (size_t i = 0; is_channel && i < text.n; i++) {
        const char c = text.p[i];

        is_channel = ascii_is_lower(c) || (i > 0 && (ascii_is_digit(c) || c == '_'));
    }
    if (is_channel)
        *(struct str *)slot = arena_str(errors->arena, text);
    else
        errors_add(errors, "parameter_invalid", path,
                   "must be the name of a channel other than api");
}

static const struct field open_fields[] = {
    {.name = "channel",
     .kind = FIELD_CUSTOM,
     .required = true,
     .read = read_channel,
     .offset = offsetof(struct open, channel)},
    {.name = "contact_external_id",
     .kind = FIELD_IDENTIFIER,
     .min = 1,
     .max = 255,
     .offset = offsetof(struct open, contact_external_id)},
    {.name = "contact_email",
     .kind = FIELD_FILLED,
     .min = 1,
     .max = 255,
     .offset = offsetof(struct open, contact_email)},
    {.name = "status",
     .kind = FIELD_CHOICE,
     .choices = conversation_status_names,
     .offset = offsetof(struct open, status)},
    FIELDS_END,
};

static enum status open_parse(struct command *command, void *service)
{
    struct open *open = command->input;

    if (open->status.p == NULL)
        open->status = STR("active");
    if (open->contact_email.p != NULL)
        open->contact_email = text_lower(command->arena, open->contact_email);
    return ST_OK;
}

/* An array of one element. */
static struct str only(struct command *command, struct str value)
{
    struct buf array;

    array_open(&array, command->arena, value.n + 8);
    array_add(&array, value);
    return array_close(&array);
}

static void add_claim(struct command *command, struct db *db)
{
    const struct open *open = command->input;
    const struct str none = only(command, STR_NONE);

    db_add(db, SQL_CLAIM,
           PARAMS(only(command, conversation_organization_param(command)), none,
                  only(command, open->contact_external_id), none,
                  only(command, open->contact_email), none));
}

static void open_query(struct command *command, struct db *db, void *service)
{
    struct open *open = command->input;
    const bool is_announced = str_equal(open->channel, STR("widget"));

    add_claim(command, db);
    open->result = db_add(
        db, SQL_OPEN_CONVERSATION,
        PARAMS(conversation_organization_param(command), open->channel, open->status,
               open->contact_external_id, open->contact_email, conversation_new_id_param(command),
               conversation_new_id_param(command), conversation_new_id_param(command),
               is_announced ? STR("true") : STR("false")));
    if (is_announced)
        command->notice = SUBJECT_NOTICE_EVENTS;
}

static enum status open_reply(struct command *command, struct db *db, void *service)
{
    const struct open *open = command->input;
    const struct db_rows *rows = db_result(db, open->result);

    if (db_rows_count(rows) != 1)
        return ST_INTERNAL;
    if (db_value(rows, 0, OPEN_CONVERSATION_CONVERSATION + CONVERSATION_ID).p != NULL)
        return conversation_reply_row(command, rows, 0, OPEN_CONVERSATION_CONVERSATION);
    command->notice = NULL;
    if (db_value(rows, 0, OPEN_CONVERSATION_EMAIL_OWNER).p == NULL)
        return ST_RETRY;
    return command_refuse(command, OUTCOME_PROFILE_CONFLICT, "contact_email",
                          "belongs to another contact, %.*s",
                          STR_ARG(db_value(rows, 0, OPEN_CONVERSATION_EMAIL_OWNER)));
}

const struct command_handler conversation_open = {
    .subject = SUBJECT_CONVERSATION_OPEN,
    .writes = true,
    .needs_organization = true,
    .fields = open_fields,
    .input_size = sizeof(struct open),
    .parse = open_parse,
    .query = open_query,
    .reply = open_reply,
};

/*
 * conversation.append - add a message to a conversation.
 *
 * Answer   ok: the conversation; or the errors of the body; not_found
 * Retry    appends another message each time
 */

enum { MESSAGE_MAX = 20000 };

struct append {
    struct str id, body;
    size_t result;
};

static const struct field append_fields[] = {
    {.name = "id", .kind = FIELD_UUID, .required = true, .offset = offsetof(struct append, id)},
    {.name = "body",
     .kind = FIELD_TEXT,
     .max = MESSAGE_MAX,
     .offset = offsetof(struct append, body)},
    FIELDS_END,
};

static enum status append_parse(struct command *command, void *service)
{
    struct append *append = command->input;

    if (append->body.p == NULL)
        append->body = STR("");
    if (!uuid_parse(append->id, &command->conversation_id))
        return conversation_refuse_absent(command);
    return ST_OK;
}

static void append_query(struct command *command, struct db *db, void *service)
{
    struct append *append = command->input;

    append->result = db_add(db, SQL_APPEND_MESSAGE,
                            PARAMS(conversation_organization_param(command), append->id,
                                   conversation_new_id_param(command), append->body));
}

static enum status append_reply(struct command *command, struct db *db, void *service)
{
    const struct append *append = command->input;
    const struct db_rows *rows = db_result(db, append->result);

    if (db_rows_count(rows) != 1)
        return ST_INTERNAL;
    if (db_value_bool(rows, 0, APPEND_MESSAGE_IS_LOCKED))
        return ST_RETRY;
    if (db_value(rows, 0, APPEND_MESSAGE_CONVERSATION + CONVERSATION_ID).p == NULL)
        return conversation_refuse_absent(command);
    return conversation_reply_row(command, rows, 0, APPEND_MESSAGE_CONVERSATION);
}

const struct command_handler conversation_append = {
    .subject = SUBJECT_CONVERSATION_APPEND,
    .writes = true,
    .needs_organization = true,
    .fields = append_fields,
    .input_size = sizeof(struct append),
    .parse = append_parse,
    .query = append_query,
    .reply = append_reply,
};
