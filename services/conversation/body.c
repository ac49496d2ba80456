#include "services/conversation/body.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/base/text.h"

/* -- custom attributes ------------------------------------------------------------------------- */

#define INVALID "parameter_invalid"

enum { NAMED_MAX = 200 /* bytes of a path that a message quotes: a key may fill a body */ };

static const char *value_error(const json_t *value)
{
    const struct str text = json_text(value);

    if (json_is_object(value) || json_is_array(value))
        return "must be a string, a number, true, false or null";
    if (text.p != NULL && text_has_nul(text))
        return "must not contain U+0000";
    if (text.p != NULL && text_length(text) > ATTRIBUTE_TEXT_MAX)
        return "must be at most 500 characters long";
    return NULL;
}

/* The message repeats the path, as the contract requires (7). */
static void refuse(struct errors *errors, const char *path, const char *problem)
{
    const size_t n = strlen(path);
    size_t named = n;

    if (n > NAMED_MAX) {
        named = NAMED_MAX;
        while (((unsigned char)path[named] & 0xC0) == 0x80) /* inside a character */
            named--;
    }
    errors_add(errors, INVALID, path, "%.*s%s %s", (int)named, path, named < n ? "..." : "",
               problem);
}

void attributes_read(json_t *value, const char *path, void *slot, struct errors *errors)
{
    struct attributes *attributes = slot;
    const char *key;
    json_t *member;

    if (!json_is_object(value)) {
        refuse(errors, path, "must be an object");
        return;
    }
    attributes->given = true;
    json_object_foreach(value, key, member)
    {
        const char *problem = attribute_key_error(str_of(key));

        if (problem == NULL)
            problem = value_error(member);
        if (problem != NULL)
            refuse(errors, fields_path(errors->arena, path, key), problem);
        if (!json_is_null(member) && ++attributes->n_values == ATTRIBUTES_MAX + 1)
            errors_add(errors, INVALID, path, ATTRIBUTES_TOO_MANY);
        if (errors->n == ERRORS_MAX)
            return;
    }
}

/* -- bodies ------------------------------------------------------------------------------------ */

enum {
    ID_MAX = 255,
    NAME_LIMIT = 255,
    EMAIL_MAX = 255,
    PHONE_MAX = 50,
};

/* The four types are treated alike. */
static const char *const from_types[] = {"contact", "user", "lead", "customer", NULL};

struct from_read {
    struct body_from from;
    struct str type;
};

static const struct field from_fields[] = {
    {.name = "type",
     .kind = FIELD_CHOICE,
     .choices = from_types,
     .offset = offsetof(struct from_read, type)},
    {.name = "external_id",
     .kind = FIELD_IDENTIFIER,
     .min = 1,
     .max = ID_MAX,
     .offset = offsetof(struct from_read, from.external_id)},
    {.name = "id", .kind = FIELD_UUID, .offset = offsetof(struct from_read, from.id)},
    {.name = "name",
     .kind = FIELD_TEXT,
     .max = NAME_LIMIT,
     .offset = offsetof(struct from_read, from.name)},
    {.name = "email",
     .kind = FIELD_FILLED,
     .min = 1,
     .max = EMAIL_MAX,
     .offset = offsetof(struct from_read, from.email)},
    {.name = "phone",
     .kind = FIELD_FILLED,
     .min = 1,
     .max = PHONE_MAX,
     .offset = offsetof(struct from_read, from.phone)},
    FIELDS_END,
};

static void from_read(json_t *value, const char *path, void *slot, struct errors *errors)
{
    struct from_read read = {0};
    struct body_from *from = slot;
    const bool has_external_id = json_object_get(value, "external_id") != NULL;
    const bool has_id = json_object_get(value, "id") != NULL;

    fields_read(value, path, from_fields, &read, errors);
    if (json_is_object(value) && !has_external_id && !has_id)
        errors_add(errors, "parameter_not_found", "from.external_id",
                   "is required unless from.id is given");
    if (has_external_id && has_id)
        errors_add(errors, "parameter_invalid", "from.id",
                   "must not be given together with from.external_id");
    *from = read.from;
    if (from->email.p != NULL)
        from->email = text_lower(errors->arena, from->email);
    if (from->phone.p != NULL)
        from->phone = text_trim(from->phone);
}

static const struct field create_fields[] = {
    {.name = "external_id",
     .kind = FIELD_IDENTIFIER,
     .required = true,
     .min = 1,
     .max = ID_MAX,
     .offset = offsetof(struct create_body, external_id)},
    {.name = "from",
     .kind = FIELD_CUSTOM,
     .required = true,
     .read = from_read,
     .offset = offsetof(struct create_body, from)},
    {.name = "custom_attributes",
     .kind = FIELD_CUSTOM,
     .read = attributes_read,
     .offset = offsetof(struct create_body, custom_attributes)},
    FIELDS_END,
};

bool create_body_read(struct str body, struct create_body *out, struct errors *errors)
{
    *out = (struct create_body){0};
    return fields_read_body(body, create_fields, out, errors);
}

static const struct field update_fields[] = {
    {.name = "custom_attributes",
     .kind = FIELD_CUSTOM,
     .required = true,
     .read = attributes_read,
     .offset = offsetof(struct update_body, custom_attributes)},
    FIELDS_END,
};

bool update_body_read(struct str body, struct update_body *out, struct errors *errors)
{
    *out = (struct update_body){0};
    return fields_read_body(body, update_fields, out, errors);
}

/* -- parameters and replies -------------------------------------------------------------------- */

struct str conversation_id_param(struct command *command, const struct uuid *id)
{
    char *text = arena_alloc(command->arena, UUID_TEXT + 1);

    uuid_format(id, text);
    return (struct str){text, UUID_TEXT};
}

struct str conversation_new_id_param(struct command *command)
{
    const struct uuid id = uuid_v7(clock_us());

    return conversation_id_param(command, &id);
}

struct str conversation_organization_param(struct command *command)
{
    return conversation_id_param(command, &command->caller.organization_id);
}

enum status conversation_refuse_absent(struct command *command)
{
    return command_refuse(command, OUTCOME_NOT_FOUND, NULL, "No such conversation");
}

void conversation_note_id(struct uuid *out, struct str text)
{
    if (!uuid_parse(text, out))
        *out = (struct uuid){0};
}

enum status conversation_reply(struct command *command,
                               const struct str values[CONVERSATION_COLUMNS])
{
    conversation_note_id(&command->conversation_id, values[CONVERSATION_ID]);
    conversation_note_id(&command->contact_id, values[CONVERSATION_CONTACT_ID]);
    buf_init(&command->reply, command->arena, 1024);
    conversation_write_values(&command->reply, values);
    return ST_OK;
}

enum status conversation_reply_row(struct command *command, const struct db_rows *rows, size_t row,
                                   int first)
{
    struct str values[CONVERSATION_COLUMNS];

    for (int i = 0; i < CONVERSATION_COLUMNS; i++)
        values[i] = db_value(rows, row, first + i);
    return conversation_reply(command, values);
}
