#include "services/conversation/create.h"

#include "common/db/params.h"
#include "conversation_sql.h"
#include "proto/subject.h"
#include "services/conversation/body.h"
#include "services/conversation/conversation.h"

/* -- commands that share a statement ----------------------------------------------------------- */

/* Two absent values are the same. */
static bool is_same(struct str a, struct str b)
{
    return (a.p == NULL) == (b.p == NULL) && str_equal(a, b);
}

/* Both are present and equal. */
static bool is_shared(struct str a, struct str b)
{
    return a.p != NULL && b.p != NULL && str_equal(a, b);
}

static bool names_same_contact(const struct body_from *a, const struct body_from *b)
{
    return is_same(a->external_id, b->external_id) && is_same(a->id, b->id);
}

static bool is_same_profile(const struct body_from *a, const struct body_from *b)
{
    return is_same(a->name, b->name) && is_same(a->email, b->email) && is_same(a->phone, b->phone);
}

static bool may_share(const struct create_command *a, const struct create_command *b)
{
    const struct body_from *x = &a->body.from, *y = &b->body.from;

    if (!str_equal(a->organization_id, b->organization_id))
        return true;
    if (str_equal(a->body.external_id, b->body.external_id))
        return false;
    if (names_same_contact(x, y))
        return is_same_profile(x, y);
    /* An id and an external id may name the same contact; only the statement's lookup can tell. */
    return (x->id.p == NULL) == (y->id.p == NULL) && !is_shared(x->email, y->email) &&
           !is_shared(x->phone, y->phone);
}

/* Whether `create` can join `group`. *same: a member that names the same contact, or NULL. */
static bool may_join(struct create_command *const *group, size_t n,
                     const struct create_command *create, const struct create_command **same)
{
    *same = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!may_share(group[i], create))
            return false;
        if (str_equal(group[i]->organization_id, create->organization_id) &&
            names_same_contact(&group[i]->body.from, &create->body.from))
            *same = group[i];
    }
    return true;
}

size_t create_group(struct create_command *const *creates, size_t n)
{
    const struct create_command *same;
    size_t i = 1;

    while (i < n && may_join(creates, i, creates[i], &same)) {
        if (same != NULL)
            creates[i]->new_contact_id = same->new_contact_id;
        i++;
    }
    return i;
}

/* -- the result of a command ------------------------------------------------------------------- */

enum create_result create_decide(const struct create_found *found)
{
    if (found->is_created)
        return CREATE_MADE;
    if (found->exists && found->is_erased)
        return CREATE_CUSTOMER_UNAVAILABLE;
    if (found->names_contact_by_id && !found->contact_is_known)
        return CREATE_CONTACT_UNKNOWN;
    if (found->exists && (found->is_deleted || !found->is_same_contact))
        return CREATE_EXTERNAL_ID_TAKEN;
    if (found->exists)
        return CREATE_REPLAYED;
    if (found->email_is_taken || found->phone_is_taken)
        return CREATE_PROFILE_TAKEN;
    return CREATE_RACED;
}

/*
 * conversation.create - create an empty conversation for a contact, once per external id.
 *
 * Answer   created or replayed: the conversation; or the errors of the body; not_found
 *          (from.id), external_id_conflict, customer_profile_conflict, customer_unavailable
 * Event    conversation.created, through the outbox
 * Retry    safe: the external id finds the conversation that the first attempt created
 */

/* Parameters of sql/create_conversations.sql; sql/claim.sql takes some of them. */
enum create_param {
    PARAM_ORGANIZATION,
    PARAM_EXTERNAL_ID,
    PARAM_CONTACT_EXTERNAL_ID,
    PARAM_CONTACT_ID,
    PARAM_NAME,
    PARAM_EMAIL,
    PARAM_PHONE,
    PARAM_ATTRIBUTES,
    PARAM_NEW_ID,
    PARAM_NEW_CONTACT_ID,
    PARAM_EVENT_ID,
    PARAMETERS
};

/* All parameters are arrays, of these types. */
enum element { ELEMENT_TEXT, ELEMENT_ID, ELEMENT_JSON };

static const enum element elements[PARAMETERS] = {
    [PARAM_ORGANIZATION] = ELEMENT_ID,   [PARAM_CONTACT_ID] = ELEMENT_ID,
    [PARAM_ATTRIBUTES] = ELEMENT_JSON,   [PARAM_NEW_ID] = ELEMENT_ID,
    [PARAM_NEW_CONTACT_ID] = ELEMENT_ID, [PARAM_EVENT_ID] = ELEMENT_ID,
};

static enum status create_parse(struct command *command, void *service)
{
    struct create_command *create = ARENA_NEW(command->arena, struct create_command);
    const struct body_from *from = &create->body.from;
    struct uuid id;

    if (!create_body_read(command->body, &create->body, &command->errors))
        return command_refuse_all(command, fields_outcome(&command->errors));
    if (from->id.p != NULL && uuid_parse(from->id, &id))
        create->contact_id = from->id;
    create->organization_id = conversation_organization_param(command);
    if (create->body.custom_attributes.n_values > 0)
        create->attributes = command->body;
    create->new_conversation_id = conversation_new_id_param(command);
    create->new_contact_id = conversation_new_id_param(command);
    create->new_event_id = conversation_new_id_param(command);
    command->state = create;
    return ST_OK;
}

/* Claims first: the statement that creates reads the result. */
static void add_claims(struct db *db, const struct params *params)
{
    static const enum create_param which[] = {
        PARAM_ORGANIZATION, PARAM_EXTERNAL_ID, PARAM_CONTACT_EXTERNAL_ID,
        PARAM_CONTACT_ID,   PARAM_EMAIL,       PARAM_PHONE,
    };
    struct params claimed = {.n = 0};

    for (size_t i = 0; i < ARRAY_SIZE(which); i++)
        params_add_from(&claimed, params, which[i]);
    db_add(db, SQL_CLAIM, &claimed);
}

static void open_column(struct elements *column, enum element element, struct arena *arena,
                        size_t n)
{
    if (element == ELEMENT_ID)
        ids_open(column, arena, n);
    else if (element == ELEMENT_JSON)
        jsons_open(column, arena, n * 256);
    else
        texts_open(column, arena, n * 40);
}

static void add_value(struct elements *column, enum element element, struct str value)
{
    if (element == ELEMENT_ID)
        ids_add_text(column, value);
    else if (element == ELEMENT_JSON)
        jsons_add(column, value);
    else
        texts_add(column, value);
}

/* Queues one claim and one create for the whole group; each command keeps the number of its row. */
static void ask_group(struct create_command *const *group, size_t n, struct db *db,
                      struct arena *arena)
{
    struct elements columns[PARAMETERS];
    struct params params = {.n = 0};
    size_t result;

    for (int p = 0; p < PARAMETERS; p++)
        open_column(&columns[p], elements[p], arena, n);
    for (size_t i = 0; i < n; i++) {
        const struct create_command *create = group[i];
        const struct body_from *from = &create->body.from;
        const struct str values[PARAMETERS] = {
            [PARAM_ORGANIZATION] = create->organization_id,
            [PARAM_EXTERNAL_ID] = create->body.external_id,
            [PARAM_CONTACT_EXTERNAL_ID] = from->external_id,
            [PARAM_CONTACT_ID] = create->contact_id,
            [PARAM_NAME] = from->name,
            [PARAM_EMAIL] = from->email,
            [PARAM_PHONE] = from->phone,
            [PARAM_ATTRIBUTES] = create->attributes,
            [PARAM_NEW_ID] = create->new_conversation_id,
            [PARAM_NEW_CONTACT_ID] = create->new_contact_id,
            [PARAM_EVENT_ID] = create->new_event_id,
        };

        for (int p = 0; p < PARAMETERS; p++)
            add_value(&columns[p], elements[p], values[p]);
    }
    for (int p = 0; p < PARAMETERS; p++)
        params_add_elements(&params, &columns[p]);
    add_claims(db, &params);
    result = db_add(db, SQL_CREATE_CONVERSATIONS, &params);
    for (size_t i = 0; i < n; i++) {
        group[i]->result = result;
        group[i]->row = i;
    }
}

static void create_query(struct command *const *commands, size_t n, struct db *db, void *service)
{
    struct arena *arena = commands[0]->arena;
    struct create_command **creates = ARENA_ARRAY(arena, struct create_command *, n);
    size_t n_asked = 0;

    for (size_t i = 0; i < n; i++)
        creates[i] = commands[i]->state;
    while (n_asked < n) {
        const size_t n_group = create_group(creates + n_asked, n - n_asked);

        ask_group(creates + n_asked, n_group, db, arena);
        n_asked += n_group;
    }
}

/* What the statement found for one command. */
struct create_row {
    const struct db_rows *rows;
    size_t row;
};

static struct str value(const struct create_row *result, int column)
{
    return db_value(result->rows, result->row, column);
}

/* Whether the existing conversation's contact is the one that the command names. */
static bool is_same_contact(const struct create_row *result, struct str named_id)
{
    return named_id.p != NULL &&
           str_equal(value(result, CREATE_CONVERSATIONS_ITS_CONTACT_ID), named_id);
}

static struct create_found found_of(const struct create_command *create,
                                    const struct create_row *result)
{
    const struct str named_id =
        value(result, CREATE_CONVERSATIONS_CONVERSATION + CONVERSATION_CONTACT_ID);

    return (struct create_found){
        .names_contact_by_id = create->body.from.id.p != NULL,
        .contact_is_known = named_id.p != NULL,
        .exists = value(result, CREATE_CONVERSATIONS_CONVERSATION + CONVERSATION_ID).p != NULL,
        .is_deleted = db_value_bool(result->rows, result->row, CREATE_CONVERSATIONS_IS_DELETED),
        .is_erased = db_value_bool(result->rows, result->row, CREATE_CONVERSATIONS_IS_ERASED),
        .is_same_contact = is_same_contact(result, named_id),
        .email_is_taken = value(result, CREATE_CONVERSATIONS_EMAIL_OWNER).p != NULL,
        .phone_is_taken = value(result, CREATE_CONVERSATIONS_PHONE_OWNER).p != NULL,
        .is_created = value(result, CREATE_CONVERSATIONS_MADE_AT).p != NULL,
    };
}

static void replace(struct str *value, struct str given)
{
    if (given.p != NULL)
        *value = given;
}

/* The contact as found, overlaid with the body's values and those of the new conversation. */
static enum status reply_made(struct command *command, const struct create_command *create,
                              const struct create_row *result)
{
    const struct body_from *from = &create->body.from;
    struct str values[CONVERSATION_COLUMNS];

    for (int i = 0; i < CONVERSATION_COLUMNS; i++)
        values[i] = value(result, CREATE_CONVERSATIONS_CONVERSATION + i);
    values[CONVERSATION_ID] = create->new_conversation_id;
    values[CONVERSATION_CREATED_AT] = value(result, CREATE_CONVERSATIONS_MADE_AT);
    values[CONVERSATION_UPDATED_AT] = values[CONVERSATION_CREATED_AT];
    values[CONVERSATION_CHANNEL] = STR("api");
    values[CONVERSATION_STATUS] = STR("active");
    values[CONVERSATION_CUSTOM_ATTRIBUTES] = value(result, CREATE_CONVERSATIONS_MADE_ATTRIBUTES);
    values[CONVERSATION_MESSAGE_COUNT] = STR("0");
    if (values[CONVERSATION_CONTACT_ID].p == NULL)
        values[CONVERSATION_CONTACT_ID] = create->new_contact_id;
    replace(&values[CONVERSATION_CONTACT_EXTERNAL_ID], from->external_id);
    replace(&values[CONVERSATION_CONTACT_NAME], from->name);
    replace(&values[CONVERSATION_CONTACT_EMAIL], from->email);
    replace(&values[CONVERSATION_CONTACT_PHONE], from->phone);

    command->outcome = OUTCOME_CREATED;
    if (db_value_bool(result->rows, result->row, CREATE_CONVERSATIONS_IS_ANNOUNCED))
        command->notice = SUBJECT_NOTICE_EVENTS;
    return conversation_reply(command, values);
}

static enum status refuse_profile(struct command *command, const struct create_row *result)
{
    static const struct {
        int column;
        const char *field;
    } profile[] = {
        {CREATE_CONVERSATIONS_EMAIL_OWNER, "from.email"},
        {CREATE_CONVERSATIONS_PHONE_OWNER, "from.phone"},
    };

    for (size_t i = 0; i < 2; i++) {
        const struct str owner = value(result, profile[i].column);

        if (owner.p != NULL)
            command_refuse(command, OUTCOME_PROFILE_CONFLICT, profile[i].field,
                           "belongs to another contact, %.*s", STR_ARG(owner));
    }
    return ST_REFUSED;
}

/* Records what was found, for the audit log. */
static void note_found(struct command *command, const struct create_row *result)
{
    conversation_note_id(&command->conversation_id,
                         value(result, CREATE_CONVERSATIONS_CONVERSATION + CONVERSATION_ID));
    conversation_note_id(&command->contact_id, value(result, CREATE_CONVERSATIONS_CONVERSATION +
                                                                 CONVERSATION_CONTACT_ID));
}

static enum status create_reply(struct command *command, struct db *db, void *service)
{
    const struct create_command *create = command->state;
    const struct create_row of = {db_result(db, create->result), create->row};
    const struct create_row *result = &of;
    struct create_found found;

    if (db_rows_count(result->rows) <= result->row)
        return ST_INTERNAL;
    found = found_of(create, result);
    note_found(command, result);
    switch (create_decide(&found)) {
    case CREATE_MADE:
        return reply_made(command, create, result);
    case CREATE_REPLAYED:
        command->outcome = OUTCOME_REPLAYED;
        return conversation_reply_row(command, result->rows, result->row,
                                      CREATE_CONVERSATIONS_CONVERSATION);
    case CREATE_CUSTOMER_UNAVAILABLE:
        return command_refuse(command, OUTCOME_CUSTOMER_UNAVAILABLE, NULL,
                              "The contact of this conversation has been erased");
    case CREATE_CONTACT_UNKNOWN:
        return command_refuse(command, OUTCOME_NOT_FOUND, "from.id", "is not the id of a contact");
    case CREATE_EXTERNAL_ID_TAKEN:
        return command_refuse(command, OUTCOME_EXTERNAL_ID_CONFLICT, "external_id",
                              found.is_deleted ? "belonged to a conversation that was deleted"
                                               : "belongs to another contact's conversation");
    case CREATE_PROFILE_TAKEN:
        return refuse_profile(command, result);
    case CREATE_RACED:
        return ST_RETRY;
    }
    return ST_INTERNAL;
}

const struct command_handler conversation_create = {
    .subject = SUBJECT_CONVERSATION_CREATE,
    .operation = OP_CONVERSATION_CREATE,
    .writes = true,
    .parse = create_parse,
    .reply = create_reply,
    .query_together = create_query,
};
