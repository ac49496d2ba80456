#include "services/search/filter.h"

#include "common/base/ascii.h"
#include "common/base/buf.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "common/json/fields.h"
#include "common/model/conversation_model.h"

/* -- numbers as they were spelled -------------------------------------------------------------- */

static bool starts_number(char c)
{
    return c == '-' || ascii_is_digit(c);
}

static bool is_in_number(char c)
{
    return starts_number(c) || c == '+' || c == '.' || c == 'e' || c == 'E';
}

/* The next number at or after *at, which is moved past it; STR_NONE if there is none. The text is
   valid JSON, so a digit outside a string always belongs to a number. */
static struct str next_number(struct str text, size_t *at)
{
    bool in_string = false;
    size_t i = *at, start;

    for (; i < text.n && (in_string || !starts_number(text.p[i])); i++) {
        if (text.p[i] == '"')
            in_string = !in_string;
        else if (text.p[i] == '\\')
            i++;
    }
    for (start = i; i < text.n && is_in_number(text.p[i]); i++)
        ;
    *at = i;
    return i > start ? (struct str){text.p + start, i - start} : STR_NONE;
}

static size_t count_numbers(struct str text)
{
    size_t n = 0, at = 0;

    while (next_number(text, &at).p != NULL)
        n++;
    return n;
}

/* Stores the first `n` numbers and counts all. jansson keeps members in the order of the document;
   json_read() bounds the depth. */
static void add_numbers(json_t *value, size_t n, struct number_texts *out)
{
    const char *key;
    json_t *inner;
    size_t i;

    if (json_is_number(value)) {
        if (out->n < n)
            out->at[out->n].number = value;
        out->n++;
    } else if (json_is_array(value)) {
        json_array_foreach(value, i, inner) add_numbers(inner, n, out);
    } else if (json_is_object(value)) {
        json_object_foreach(value, key, inner) add_numbers(inner, n, out);
    }
}

bool number_texts_read(struct str text, json_t *root, struct arena *arena, struct number_texts *out)
{
    const size_t n = count_numbers(text);
    size_t at = 0;

    *out = (struct number_texts){.at = ARENA_ARRAY(arena, struct number_text, n)};
    for (size_t i = 0; i < n; i++)
        out->at[i].text = next_number(text, &at);
    add_numbers(root, n, out);
    return out->n == n;
}

struct str number_texts_find(const struct number_texts *numbers, const json_t *number)
{
    size_t i = 0;

    while (i < numbers->n && numbers->at[i].number != number)
        i++;
    must(i < numbers->n);
    return numbers->at[i].text;
}

/* -- what can be searched ---------------------------------------------------------------------- */

static const char *const operators[] = {
    [OPERATOR_EQUAL] = "=",    [OPERATOR_NOT_EQUAL] = "!=", [OPERATOR_IN] = "IN",
    [OPERATOR_NOT_IN] = "NIN", [OPERATOR_ABOVE] = ">",      [OPERATOR_BELOW] = "<",
};
enum { OPERATORS = ARRAY_SIZE(operators) };

/* Unsupported operators of the interface that this search follows. */
static const char *const left_out[] = {"~", "!~", "^", "$", "OR", "AND"};

#define EQUAL    (1u << OPERATOR_EQUAL)
#define EQUALITY (EQUAL | 1u << OPERATOR_NOT_EQUAL)
#define SETS     (EQUALITY | 1u << OPERATOR_IN | 1u << OPERATOR_NOT_IN)
#define ORDER    (EQUALITY | 1u << OPERATOR_ABOVE | 1u << OPERATOR_BELOW)
#define ANY      ((1u << OPERATORS) - 1)

static const struct search_field searchables[] = {
    {"contact.external_id", FILTER_CONTACT_EXTERNAL_ID, EQUAL, VALUE_IDENTIFIER},
    {"contact.id", FILTER_CONTACT_ID, EQUAL, VALUE_TEXT},
    {"contact_ids", FILTER_CONTACT_ID, EQUAL, VALUE_TEXT},
    {SEARCH_FIELD_ATTRIBUTES "{key}", FILTER_ATTRIBUTE, EQUALITY, VALUE_ATTRIBUTE},
    {"external_id", FILTER_EXTERNAL_ID, SETS, VALUE_IDENTIFIER},
    {"channel", FILTER_CHANNEL, SETS, VALUE_TEXT},
    {"source.type", FILTER_CHANNEL, SETS, VALUE_TEXT},
    {"state", FILTER_STATE, EQUALITY, VALUE_STATE},
    {"status", FILTER_STATUS, SETS, VALUE_STATUS},
    {"created_at", FILTER_CREATED_AT, ORDER, VALUE_SECONDS},
    {"updated_at", FILTER_UPDATED_AT, ORDER, VALUE_SECONDS},
};
enum { SEARCHABLES = ARRAY_SIZE(searchables) };

const struct search_field *search_field_find(struct str name)
{
    const struct str attributes = STR(SEARCH_FIELD_ATTRIBUTES);

    for (size_t i = 0; name.p != NULL && i < SEARCHABLES; i++) {
        const struct search_field *s = &searchables[i];

        if (s->field == FILTER_ATTRIBUTE
                ? str_starts(name, attributes) &&
                      attribute_key_error(str_skip(name, attributes.n)) == NULL
                : str_equal(name, str_of(s->name)))
            return s;
    }
    return NULL;
}

bool search_field_allows(const struct search_field *searchable, enum filter_operator op)
{
    const unsigned allowed = searchable != NULL ? searchable->operators : ANY;

    return (allowed & 1u << op) != 0;
}

bool search_operator_find(struct str text, enum filter_operator *out)
{
    for (int i = 0; text.p != NULL && i < OPERATORS; i++) {
        if (str_equal(text, str_of(operators[i]))) {
            *out = (enum filter_operator)i;
            return true;
        }
    }
    return false;
}

const char *search_fields_text(struct arena *arena)
{
    struct buf list;

    buf_init(&list, arena, 256);
    for (size_t i = 0; i < SEARCHABLES; i++)
        buf_printf(&list, "%s%s", i == 0 ? "" : ", ", searchables[i].name);
    return arena_cstr(arena, buf_str(&list));
}

const char *search_operators_text(const struct search_field *searchable, struct arena *arena)
{
    struct buf list;

    buf_init(&list, arena, 32);
    for (int i = 0; i < OPERATORS; i++) {
        if (search_field_allows(searchable, (enum filter_operator)i))
            buf_printf(&list, "%s%s", list.n == 0 ? "" : ", ", operators[i]);
    }
    return arena_cstr(arena, buf_str(&list));
}

const char *search_operator_name(struct str text)
{
    enum filter_operator op;

    if (search_operator_find(text, &op))
        return operators[op];
    for (size_t i = 0; i < ARRAY_SIZE(left_out); i++) {
        if (str_equal(text, str_of(left_out[i])))
            return left_out[i];
    }
    return "this operator";
}

/* -- a filter ---------------------------------------------------------------------------------- */

#define INVALID "parameter_invalid"

#define IDENTIFIER_MAX 255

/* A filter being read; its members' readers share this. */
struct filter_reading {
    const json_t *object;
    const struct number_texts *numbers;
    struct filter *filter;
    bool names_contact;
};

/* A string of any length, without U+0000. */
static bool is_text(const json_t *value, const char *path, struct errors *errors)
{
    const struct str text = json_text(value);

    if (text.p == NULL)
        errors_add(errors, INVALID, path, "must be a string");
    else if (text_has_nul(text))
        errors_add(errors, INVALID, path, "must not contain U+0000");
    else
        return true;
    return false;
}

static void read_field(json_t *value, const char *path, void *slot, struct errors *errors)
{
    struct filter_reading *reading = slot;
    const struct str name = json_text(value);
    const struct search_field *searchable = search_field_find(name);

    if (!is_text(value, path, errors))
        return;
    if (searchable == NULL) {
        errors_add(errors, "invalid_field", path, "cannot be searched; use one of: %s",
                   search_fields_text(errors->arena));
        return;
    }
    reading->names_contact = filter_names_contact(searchable->field);
    reading->filter->field = searchable->field;
    if (searchable->field == FILTER_ATTRIBUTE)
        reading->filter->key =
            arena_str(errors->arena, str_skip(name, sizeof(SEARCH_FIELD_ATTRIBUTES) - 1));
}

static const struct search_field *field_of(const struct filter_reading *reading)
{
    return search_field_find(json_member_text(reading->object, "field"));
}

static void read_operator(json_t *value, const char *path, void *slot, struct errors *errors)
{
    struct filter_reading *reading = slot;
    const struct search_field *searchable = field_of(reading);
    const struct str text = json_text(value);

    if (!is_text(value, path, errors))
        return;
    if (!search_operator_find(text, &reading->filter->op) ||
        !search_field_allows(searchable, reading->filter->op))
        errors_add(errors, "invalid_operator", path, "%s is not supported here; use one of: %s",
                   search_operator_name(text), search_operators_text(searchable, errors->arena));
}

/* The value as JSON text; a number as the client spelled it, since a double may differ. */
static void read_attribute(const json_t *value, const struct number_texts *numbers,
                           const char *path, struct str *out, struct errors *errors)
{
    const struct str text = json_text(value);
    struct buf quoted;

    if (json_is_number(value)) {
        *out = arena_str(errors->arena, number_texts_find(numbers, value));
    } else if (json_is_boolean(value)) {
        *out = json_is_true(value) ? STR("true") : STR("false");
    } else if (text.p == NULL) {
        errors_add(errors, INVALID, path, "must be a string, a number, true or false");
    } else if (text_length(text) > ATTRIBUTE_TEXT_MAX) {
        errors_add(errors, INVALID, path, "must be at most %d characters long", ATTRIBUTE_TEXT_MAX);
    } else if (is_text(value, path, errors)) {
        buf_init(&quoted, errors->arena, text.n + 2);
        json_add_string(&quoted, text);
        *out = buf_str(&quoted);
    }
}

/* How one value is read, by kind; for attributes see read_attribute(). */
static const struct field scalars[] = {
    [VALUE_TEXT] = {.kind = FIELD_TEXT, .max = INT32_MAX},
    [VALUE_IDENTIFIER] = {.kind = FIELD_IDENTIFIER, .min = 1, .max = IDENTIFIER_MAX},
    [VALUE_STATE] = {.kind = FIELD_CHOICE, .choices = conversation_state_names},
    [VALUE_STATUS] = {.kind = FIELD_CHOICE, .choices = conversation_status_names},
};

static void read_scalar(json_t *value, enum value_kind kind, const struct filter_reading *reading,
                        const char *path, struct str *out, struct errors *errors)
{
    if (kind == VALUE_ATTRIBUTE) {
        read_attribute(value, reading->numbers, path, out, errors);
        return;
    }
    must(kind < ARRAY_SIZE(scalars)); /* no operator of times takes a list */
    field_read_value(&scalars[kind], value, path, out, errors);
}

static void read_list(json_t *value, enum value_kind kind, const struct filter_reading *reading,
                      const char *path, struct errors *errors)
{
    struct filter *filter = reading->filter;
    const size_t n = json_array_size(value); /* 0 if it is not an array */

    if (n < 1 || n > FILTER_VALUES_MAX) {
        errors_add(errors, INVALID, path, "must be an array of 1 to %d values", FILTER_VALUES_MAX);
        return;
    }
    filter->values = ARENA_ARRAY(errors->arena, struct str, n);
    filter->n_values = n;
    for (size_t i = 0; i < n && errors->n < ERRORS_MAX; i++)
        read_scalar(json_array_get(value, i), kind, reading,
                    arena_printf(errors->arena, "%s[%zu]", path, i), &filter->values[i], errors);
}

/* Which values are valid depends on the field and the operator. If one of these is invalid, the
   value is not checked: their readers report the error. */
static void read_value(json_t *value, const char *path, void *slot, struct errors *errors)
{
    struct filter_reading *reading = slot;
    struct filter *filter = reading->filter;
    const struct search_field *searchable = field_of(reading);
    enum filter_operator op;

    if (searchable == NULL ||
        !search_operator_find(json_member_text(reading->object, "operator"), &op) ||
        !search_field_allows(searchable, op))
        return;
    if (op == OPERATOR_IN || op == OPERATOR_NOT_IN) {
        read_list(value, searchable->value, reading, path, errors);
    } else if (searchable->value == VALUE_SECONDS) {
        static const struct field seconds = {FIELD_OF_SECONDS};
        struct field_int read = {0};

        field_read_value(&seconds, value, path, &read, errors);
        filter->seconds = read.value;
    } else {
        filter->values = ARENA_NEW(errors->arena, struct str);
        filter->n_values = 1;
        read_scalar(value, searchable->value, reading, path, filter->values, errors);
    }
}

void filter_read(json_t *value, const char *path, const struct number_texts *numbers,
                 struct filter *filter, bool *names_contact, struct errors *errors)
{
    static const struct field members[] = {
        {.name = "field", .kind = FIELD_CUSTOM, .required = true, .read = read_field},
        {.name = "operator", .kind = FIELD_CUSTOM, .required = true, .read = read_operator},
        {.name = "value", .kind = FIELD_CUSTOM, .required = true, .read = read_value},
        FIELDS_END,
    };
    struct filter_reading reading = {.object = value, .numbers = numbers, .filter = filter};

    *filter = (struct filter){0};
    fields_read(value, path, members, &reading, errors);
    *names_contact = reading.names_contact;
}
