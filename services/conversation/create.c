/*
 * conversation.create - make an empty conversation for a customer, once for each external id.
 *
 * Answer   created or replayed: the conversation; or what is wrong with the body; not_found
 *          (from.id), external_id_conflict, customer_profile_conflict, customer_unavailable
 * Event    conversation.created, through the outbox
 * Retry    safe: the external id finds what the first attempt made
 */
#include "conversation_sql.h"
#include "proto/subject.h"
#include "services/conversation/body.h"
#include "services/conversation/conversation.h"
#include "services/conversation/create_rules.h"
#include "services/conversation/lock_order.h"
#include "services/conversation/reply.h"

/* The columns of sql/create_conversation.sql. */
enum create_column {
    COLUMN_IS_DELETED,
    COLUMN_IS_ERASED,
    COLUMN_CONTACT_ID, /* of the conversation that exists */
    COLUMN_EMAIL_OWNER,
    COLUMN_PHONE_OWNER,
    COLUMN_MADE_AT, /* NULL: not made */
    COLUMN_MADE_ATTRIBUTES,
    COLUMN_CONVERSATION, /* the one that exists; its contact is the one that was named */
};

struct create {
    struct create_body body;
    struct str contact_id; /* from.id, if it can be anybody's */
    struct str new_conversation_id, new_contact_id, new_event_id;
    size_t result;
};

enum status create_judge(struct command *command, void *service)
{
    struct create *const create = ARENA_NEW(command->arena, struct create);
    const struct body_from *const from = &create->body.from;
    struct uuid id;

    if (!create_body_read(command->body, &create->body, &command->problems))
        return command_refuse_all(command, fields_outcome(&command->problems));
    if (from->id.p != NULL && uuid_parse(from->id, &id))
        create->contact_id = from->id;
    create->new_conversation_id = new_id_param(command);
    create->new_contact_id = new_id_param(command);
    create->new_event_id = new_id_param(command);
    command->lock_order = lock_order(&command->caller.organization_id,
                                     from->id.p != NULL ? from->id : from->external_id);
    command->state = create;
    return ST_OK;
}

void create_ask(struct command *command, struct db *db, void *service)
{
    struct create *const create = command->state;
    const struct create_body *const body = &create->body;
    const db_param params[] = {
        organization_param(command),
        body->external_id,
        body->from.external_id,
        create->contact_id,
        body->from.name,
        body->from.email,
        body->from.phone,
        body->custom_attributes.n_values > 0 ? command->body : STR_NONE,
        create->new_conversation_id,
        create->new_contact_id,
        create->new_event_id,
    };

    create->result =
        db_add(db, SQL_CREATE_CONVERSATION, params, sizeof(params) / sizeof(params[0]));
}

/* The same contact: the statement has looked up the one that is named. */
static bool is_same_contact(const struct db_rows *rows, struct str named_id)
{
    return named_id.p != NULL && str_equal(db_value(rows, 0, COLUMN_CONTACT_ID), named_id);
}

static struct create_found found_of(const struct create *create, const struct db_rows *rows)
{
    const struct str named_id = db_value(rows, 0, COLUMN_CONVERSATION + CONVERSATION_CONTACT_ID);

    return (struct create_found){
        .names_contact_by_id = create->body.from.id.p != NULL,
        .contact_is_known = named_id.p != NULL,
        .exists = db_value(rows, 0, COLUMN_CONVERSATION + CONVERSATION_ID).p != NULL,
        .is_deleted = db_value_bool(rows, 0, COLUMN_IS_DELETED),
        .is_erased = db_value_bool(rows, 0, COLUMN_IS_ERASED),
        .is_same_contact = is_same_contact(rows, named_id),
        .email_is_taken = db_value(rows, 0, COLUMN_EMAIL_OWNER).p != NULL,
        .phone_is_taken = db_value(rows, 0, COLUMN_PHONE_OWNER).p != NULL,
        .is_created = db_value(rows, 0, COLUMN_MADE_AT).p != NULL,
    };
}

static void replace(struct str *value, struct str given)
{
    if (given.p != NULL)
        *value = given;
}

/* What was named and found, with what was given and made on top. */
static enum status reply_made(struct command *command, const struct create *create,
                              const struct db_rows *rows)
{
    const struct body_from *const from = &create->body.from;
    struct str values[CONVERSATION_COLUMNS];

    for (int i = 0; i < CONVERSATION_COLUMNS; i++)
        values[i] = db_value(rows, 0, COLUMN_CONVERSATION + i);
    values[CONVERSATION_ID] = create->new_conversation_id;
    values[CONVERSATION_CREATED_AT] = db_value(rows, 0, COLUMN_MADE_AT);
    values[CONVERSATION_UPDATED_AT] = values[CONVERSATION_CREATED_AT];
    values[CONVERSATION_CHANNEL] = STR("api");
    values[CONVERSATION_STATUS] = STR("active");
    values[CONVERSATION_CUSTOM_ATTRIBUTES] = db_value(rows, 0, COLUMN_MADE_ATTRIBUTES);
    values[CONVERSATION_MESSAGE_COUNT] = STR("0");
    if (values[CONVERSATION_CONTACT_ID].p == NULL)
        values[CONVERSATION_CONTACT_ID] = create->new_contact_id;
    replace(&values[CONVERSATION_CONTACT_EXTERNAL_ID], from->external_id);
    replace(&values[CONVERSATION_CONTACT_NAME], from->name);
    replace(&values[CONVERSATION_CONTACT_EMAIL], from->email);
    replace(&values[CONVERSATION_CONTACT_PHONE], from->phone);

    command->outcome = OUTCOME_CREATED;
    command->doorbell = SUBJECT_NOTICE_EVENTS;
    return reply_conversation(command, values);
}

static enum status refuse_profile(struct command *command, const struct db_rows *rows)
{
    static const struct {
        int column;
        const char *field, *what;
    } profile[] = {
        {COLUMN_EMAIL_OWNER, "from.email", "email address"},
        {COLUMN_PHONE_OWNER, "from.phone", "phone number"},
    };

    for (size_t i = 0; i < 2; i++) {
        const struct str owner = db_value(rows, 0, profile[i].column);

        if (owner.p != NULL)
            command_refuse(command, OUTCOME_PROFILE_CONFLICT, profile[i].field,
                           "This %s belongs to another contact, %.*s", profile[i].what,
                           STR_ARG(owner));
    }
    return ST_REFUSED;
}

/* Names in the audit trail what exists already. */
static void note_found(struct command *command, const struct db_rows *rows)
{
    note_id(&command->conversation_id, db_value(rows, 0, COLUMN_CONVERSATION + CONVERSATION_ID));
    note_id(&command->contact_id, db_value(rows, 0, COLUMN_CONVERSATION + CONVERSATION_CONTACT_ID));
}

enum status create_tell(struct command *command, struct db *db, void *service)
{
    const struct create *const create = command->state;
    const struct db_rows *const rows = db_result(db, create->result);
    struct create_found found;

    if (db_rows_count(rows) != 1)
        return ST_INTERNAL;
    found = found_of(create, rows);
    note_found(command, rows);
    switch (create_judge_found(&found)) {
    case CREATE_MADE:
        return reply_made(command, create, rows);
    case CREATE_REPLAYED:
        command->outcome = OUTCOME_REPLAYED;
        return reply_conversation_row(command, rows, COLUMN_CONVERSATION);
    case CREATE_CUSTOMER_UNAVAILABLE:
        return command_refuse(command, OUTCOME_CUSTOMER_UNAVAILABLE, NULL,
                              "The customer of this conversation has been erased");
    case CREATE_CONTACT_UNKNOWN:
        return command_refuse(command, OUTCOME_NOT_FOUND, "from.id", "No such contact");
    case CREATE_EXTERNAL_ID_TAKEN:
        return command_refuse(command, OUTCOME_EXTERNAL_ID_CONFLICT, "external_id",
                              found.is_deleted ? "This id belonged to a deleted conversation"
                                               : "This id belongs to another contact");
    case CREATE_PROFILE_TAKEN:
        return refuse_profile(command, rows);
    case CREATE_RACED:
        return ST_RETRY;
    }
    return ST_INTERNAL;
}
