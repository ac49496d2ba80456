#include "common/json/fields.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "common/base/ascii.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "common/json/json.h"

/* -- errors ------------------------------------------------------------------------------------ */

void errors_init(struct errors *errors, struct arena *arena)
{
    *errors = (struct errors){.arena = arena};
}

void errors_add(struct errors *errors, const char *code, const char *field, const char *message,
                ...)
{
    struct error *error;
    va_list args;

    if (errors->n == ERRORS_MAX)
        return;
    error = &errors->at[errors->n++];
    va_start(args, message);
    *error = (struct error){
        .code = code,
        .message = arena_vprintf(errors->arena, message, args),
        .field = field != NULL ? arena_cstr(errors->arena, str_of(field)) : NULL,
    };
    va_end(args);
}

void errors_write(const struct errors *errors, struct buf *out)
{
    buf_char(out, '[');
    for (size_t i = 0; i < errors->n; i++) {
        const struct error *error = &errors->at[i];

        buf_add(out, i > 0 ? STR(",{") : STR("{"));
        json_add_key(out, "code");
        json_add_string(out, str_of(error->code));
        json_add_key(out, "message");
        json_add_string(out, str_of(error->message));
        if (error->field != NULL) {
            json_add_key(out, "field");
            json_add_string(out, str_of(error->field));
        }
        buf_char(out, '}');
    }
    buf_char(out, ']');
}

/* -- fields ------------------------------------------------------------------------------------ */

#define MISSING "parameter_not_found"
#define INVALID "parameter_invalid"

#define FIELDS_MAX 32 /* in one table: the number of bits in `seen` */

const char *fields_path(struct arena *arena, const char *path, const char *name)
{
    if (path[0] == '\0')
        return arena_cstr(arena, str_of(name));
    return arena_printf(arena, "%s.%s", path, name);
}

static void read_text(const struct field *field, const json_t *value, const char *path,
                      struct str *slot, struct errors *errors)
{
    const struct str text = json_text(value);
    size_t length;

    if (text.p == NULL) {
        errors_add(errors, INVALID, path, "must be a string");
        return;
    }
    length = text_length(text);
    if (text_has_nul(text)) {
        errors_add(errors, INVALID, path, "must not contain U+0000");
    } else if (length < (size_t)field->min || length > (size_t)field->max) {
        if (field->min == field->max)
            errors_add(errors, INVALID, path, "must be exactly %" PRId64 " characters long",
                       field->min);
        else if (field->min == 0)
            errors_add(errors, INVALID, path, "must be at most %" PRId64 " characters long",
                       field->max);
        else
            errors_add(errors, INVALID, path, "must be %" PRId64 " to %" PRId64 " characters long",
                       field->min, field->max);
    } else if (field->kind == FIELD_IDENTIFIER && text_has_outer_space(text)) {
        errors_add(errors, INVALID, path, "must not begin or end with white space");
    } else if (field->kind == FIELD_FILLED && text_trim(text).n == 0) {
        errors_add(errors, INVALID, path, "must not be blank");
    } else {
        *slot = arena_str(errors->arena, text);
    }
}

static const char *choices_text(struct arena *arena, const char *const *choices)
{
    struct buf list;

    buf_init(&list, arena, 64);
    for (size_t i = 0; choices[i] != NULL; i++)
        buf_printf(&list, "%s%s", i == 0 ? "" : ", ", choices[i]);
    return arena_cstr(arena, buf_str(&list));
}

static void read_choice(const struct field *field, const json_t *value, const char *path,
                        struct str *slot, struct errors *errors)
{
    const struct str text = json_text(value);

    for (size_t i = 0; field->choices[i] != NULL; i++) {
        if (text.p != NULL && str_equal(text, str_of(field->choices[i]))) {
            *slot = str_of(field->choices[i]);
            return;
        }
    }
    errors_add(errors, INVALID, path, "must be one of: %s",
               choices_text(errors->arena, field->choices));
}

static bool is_uuid(struct str text)
{
    static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

    if (text.n != sizeof(form) - 1)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        if (form[i] == '-' ? text.p[i] != '-' : hex_value(text.p[i]) < 0)
            return false;
    }
    return true;
}

static void read_uuid(const json_t *value, const char *path, struct str *slot,
                      struct errors *errors)
{
    const struct str text = json_text(value);

    if (is_uuid(text))
        *slot = arena_str(errors->arena, text);
    else
        errors_add(errors, INVALID, path, "must be a UUID");
}

static void read_int(const struct field *field, const json_t *value, const char *path,
                     struct field_int *slot, struct errors *errors)
{
    const int64_t number = json_integer_value(value);

    if (json_is_integer(value) && number >= field->min && number <= field->max)
        *slot = (struct field_int){.given = true, .value = number};
    else if (field->error != NULL)
        errors_add(errors, INVALID, path, "%s", field->error);
    else
        errors_add(errors, INVALID, path, "must be an integer from %" PRId64 " to %" PRId64,
                   field->min, field->max);
}

static void read_bool(const json_t *value, const char *path, struct field_bool *slot,
                      struct errors *errors)
{
    if (json_is_boolean(value))
        *slot = (struct field_bool){.given = true, .value = json_is_true(value)};
    else
        errors_add(errors, INVALID, path, "must be true or false");
}

void field_read_value(const struct field *field, json_t *value, const char *path, void *slot,
                      struct errors *errors)
{
    switch (field->kind) {
    case FIELD_TEXT:
    case FIELD_FILLED:
    case FIELD_IDENTIFIER:
        read_text(field, value, path, slot, errors);
        return;
    case FIELD_CHOICE:
        read_choice(field, value, path, slot, errors);
        return;
    case FIELD_UUID:
        read_uuid(value, path, slot, errors);
        return;
    case FIELD_INT:
        read_int(field, value, path, slot, errors);
        return;
    case FIELD_BOOL:
        read_bool(value, path, slot, errors);
        return;
    case FIELD_CUSTOM:
        field->read(value, path, slot, errors);
        return;
    }
}

static void read_field(const struct field *field, json_t *value, const char *path, void *into,
                       struct errors *errors)
{
    void *const slot = (char *)into + field->offset;

    if (!json_is_null(value))
        field_read_value(field, value, path, slot, errors);
    else if (!field->nullable)
        errors_add(errors, INVALID, path, "must not be null");
    else if (field->kind == FIELD_INT)
        *(struct field_int *)slot = (struct field_int){.is_null = true};
}

/* The index of a name in the table; n: it is not there. */
static size_t field_index(const struct field *fields, size_t n, const char *name)
{
    size_t i = 0;

    while (i < n && strcmp(fields[i].name, name) != 0)
        i++;
    return i;
}

static size_t count(const struct field *fields)
{
    size_t n = 0;

    while (fields[n].name != NULL)
        n++;
    must(n <= FIELDS_MAX);
    return n;
}

void fields_read(json_t *object, const char *path, const struct field *fields, void *into,
                 struct errors *errors)
{
    const size_t n = count(fields);
    uint32_t seen = 0;
    const char *name;
    json_t *value;

    if (!json_is_object(object)) {
        errors_add(errors, INVALID, path[0] == '\0' ? NULL : path, "must be an object");
        return;
    }
    json_object_foreach(object, name, value)
    {
        const char *const where = fields_path(errors->arena, path, name);
        const size_t i = field_index(fields, n, name);

        if (errors->n == ERRORS_MAX)
            return;
        if (i == n) {
            errors_add(errors, INVALID, where, "is not a field of this request");
            continue;
        }
        seen |= UINT32_C(1) << i;
        read_field(&fields[i], value, where, into, errors);
    }
    for (size_t i = 0; i < n; i++) {
        if (fields[i].required && (seen & UINT32_C(1) << i) == 0)
            errors_add(errors, MISSING, fields_path(errors->arena, path, fields[i].name),
                       "is required");
    }
}

bool fields_read_body(struct str body, const struct field *fields, void *into,
                      struct errors *errors)
{
    char error[160];
    json_t *root;

    if (!json_read(body, &root, error)) {
        errors_add(errors, "invalid_json", NULL, "%s", error);
        return false;
    }
    fields_read(root, "", fields, into, errors);
    json_free(root);
    return errors->n == 0;
}

enum outcome fields_outcome(const struct errors *errors)
{
    enum outcome outcome = OUTCOME_SERVER_ERROR;
    bool is_known;

    must(errors->n > 0);
    is_known = outcome_of(str_of(errors->at[0].code), &outcome);
    must(is_known);
    return outcome;
}
