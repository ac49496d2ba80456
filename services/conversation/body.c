#include "services/conversation/body.h"

#include "common/wire/text.h"

enum {
    ID_MAX = 255,
    NAME_LIMIT = 255,
    EMAIL_MAX = 255,
    PHONE_MAX = 50,
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* The four kinds of customer mean the same to us. */
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
};

static void from_read(json_t *value, const char *path, void *slot, struct errors *errors)
{
    struct from_read read = {0};
    struct body_from *const from = slot;
    const bool has_external_id = json_object_get(value, "external_id") != NULL;
    const bool has_id = json_object_get(value, "id") != NULL;

    fields_read(value, path, from_fields, COUNT(from_fields), &read, errors);
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
};

bool create_body_read(struct str body, struct create_body *out, struct errors *errors)
{
    *out = (struct create_body){0};
    return fields_read_body(body, create_fields, COUNT(create_fields), out, errors);
}

static const struct field update_fields[] = {
    {.name = "custom_attributes",
     .kind = FIELD_CUSTOM,
     .required = true,
     .read = attributes_read,
     .offset = offsetof(struct update_body, custom_attributes)},
};

bool update_body_read(struct str body, struct update_body *out, struct errors *errors)
{
    *out = (struct update_body){0};
    return fields_read_body(body, update_fields, COUNT(update_fields), out, errors);
}
