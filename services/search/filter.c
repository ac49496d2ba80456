#include "services/search/filter.h"

#include <string.h>

#include "common/wire/fields.h"
#include "common/wire/text.h"

#define INVALID "parameter_invalid"

#define IDENTIFIER_MOST     255
#define ATTRIBUTE_TEXT_MOST 500
#define ATTRIBUTE_KEY_MOST  64
#define ATTRIBUTE_PREFIX    "custom_attributes."
#define ATTRIBUTE_RESERVED  "service_"

static const char *const operators[] = {
    [OPERATOR_EQUAL] = "=",    [OPERATOR_NOT_EQUAL] = "!=", [OPERATOR_IN] = "IN",
    [OPERATOR_NOT_IN] = "NIN", [OPERATOR_ABOVE] = ">",      [OPERATOR_BELOW] = "<",
};
enum { OPERATORS = sizeof(operators) / sizeof(operators[0]) };

/* Operators of the interface that this grammar follows, which it leaves out. */
static const char *const left_out[] = {"~", "!~", "^", "$", "OR", "AND"};

#define EQUALITY (1u << OPERATOR_EQUAL | 1u << OPERATOR_NOT_EQUAL)
#define SETS     (EQUALITY | 1u << OPERATOR_IN | 1u << OPERATOR_NOT_IN)
#define ORDER    (EQUALITY | 1u << OPERATOR_ABOVE | 1u << OPERATOR_BELOW)

enum value_kind {
    VALUE_TEXT,
    VALUE_IDENTIFIER,
    VALUE_STATE,
    VALUE_STATUS,
    VALUE_SECONDS,
    VALUE_ATTRIBUTE,
};

struct searchable {
    const char *name;
    enum filter_field field;
    unsigned operators; /* a bit for each */
    enum value_kind value;
};

static const struct searchable searchables[] = {
    {"contact.external_id", FILTER_CONTACT_EXTERNAL_ID, 1u << OPERATOR_EQUAL, VALUE_IDENTIFIER},
    {"contact.id", FILTER_CONTACT_ID, 1u << OPERATOR_EQUAL, VALUE_TEXT},
    {"contact_ids", FILTER_CONTACT_ID, 1u << OPERATOR_EQUAL, VALUE_TEXT},
    {ATTRIBUTE_PREFIX "{key}", FILTER_ATTRIBUTE, EQUALITY, VALUE_ATTRIBUTE},
    {"external_id", FILTER_EXTERNAL_ID, SETS, VALUE_IDENTIFIER},
    {"channel", FILTER_CHANNEL, SETS, VALUE_TEXT},
    {"source.type", FILTER_CHANNEL, SETS, VALUE_TEXT},
    {"state", FILTER_STATE, EQUALITY, VALUE_STATE},
    {"status", FILTER_STATUS, SETS, VALUE_STATUS},
    {"created_at", FILTER_CREATED_AT, ORDER, VALUE_SECONDS},
    {"updated_at", FILTER_UPDATED_AT, ORDER, VALUE_SECONDS},
};
enum { SEARCHABLES = sizeof(searchables) / sizeof(searchables[0]) };

/* A filter while it is read, and where its members look at one another. */
struct reading {
    const json_t *object;
    const struct literals *literals;
    struct filter *filter;
    bool names_contact;
};

/* -- field ----------------------------------------------------------------------------------------
 */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_attribute_key(struct str key)
{
    if (key.n == 0 || key.n > ATTRIBUTE_KEY_MOST || !is_letter(key.p[0]))
        return false;
    for (size_t i = 1; i < key.n; i++) {
        bool in_set = is_letter(key.p[i]) || (key.p[i] >= '0' && key.p[i] <= '9') ||
                      key.p[i] == '_' || key.p[i] == '-' || key.p[i] == '.';
        if (!in_set)
            return false;
    }
    const struct str reserved = STR(ATTRIBUTE_RESERVED);
    return key.n < reserved.n || !str_equal_nocase((struct str){key.p, reserved.n}, reserved);
}

static const struct searchable *searchable_of(struct str name)
{
    const struct str prefix = STR(ATTRIBUTE_PREFIX);

    for (size_t i = 0; name.p != NULL && i < SEARCHABLES; i++) {
        const struct searchable *s = &searchables[i];

        if (s->field == FILTER_ATTRIBUTE
                ? str_starts(name, prefix) && is_attribute_key(str_skip(name, prefix.n))
                : str_equal(name, str_of(s->name)))
            return s;
    }
    return NULL;
}

static const char *searchables_text(struct arena *arena)
{
    struct buf list;

    buf_init(&list, arena, 256);
    for (size_t i = 0; i < SEARCHABLES; i++)
        buf_printf(&list, "%s%s", i == 0 ? "" : ", ", searchables[i].name);
    return arena_cstr(arena, buf_str(&list));
}

/* A string without U+0000, of whatever length. */
static bool is_text(const json_t *value, const char *path, struct problems *problems)
{
    const struct str text = json_text(value);

    if (text.p == NULL)
        problems_add(problems, INVALID, path, "must be a string");
    else if (text_has_nul(text))
        problems_add(problems, INVALID, path, "must not contain U+0000");
    else
        return true;
    return false;
}

static void read_field(json_t *value, const char *path, void *slot, struct problems *problems)
{
    struct reading *reading = slot;
    const struct searchable *searchable;

    if (!is_text(value, path, problems))
        return;
    searchable = searchable_of(json_text(value));
    if (searchable == NULL) {
        problems_add(problems, "invalid_field", path, "cannot be searched; use one of: %s",
                     searchables_text(problems->arena));
        return;
    }
    reading->names_contact = filter_names_contact(searchable->field);
    reading->filter->field = searchable->field;
    if (searchable->field == FILTER_ATTRIBUTE)
        reading->filter->key =
            arena_str(problems->arena, str_skip(json_text(value), sizeof(ATTRIBUTE_PREFIX) - 1));
}

/* -- operator -------------------------------------------------------------------------------------
 */

static bool operator_of(struct str text, enum filter_operator *out)
{
    for (int i = 0; text.p != NULL && i < OPERATORS; i++) {
        if (str_equal(text, str_of(operators[i]))) {
            *out = (enum filter_operator)i;
            return true;
        }
    }
    return false;
}

static const char *operators_text(unsigned set, struct arena *arena)
{
    struct buf list;

    buf_init(&list, arena, 32);
    for (int i = 0; i < OPERATORS; i++) {
        if ((set & 1u << i) != 0)
            buf_printf(&list, "%s%s", list.n == 0 ? "" : ", ", operators[i]);
    }
    return arena_cstr(arena, buf_str(&list));
}

/* The operator as we spell it; text that is none is not repeated to the caller. */
static const char *operator_name(struct str text)
{
    enum filter_operator op;

    if (operator_of(text, &op))
        return operators[op];
    for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++) {
        if (str_equal(text, str_of(left_out[i])))
            return left_out[i];
    }
    return "this operator";
}

static void read_operator(json_t *value, const char *path, void *slot, struct problems *problems)
{
    struct reading *reading = slot;
    const struct searchable *searchable = searchable_of(json_member_text(reading->object, "field"));
    /* Of a field that we do not know, any operator may be right. */
    const unsigned allowed = searchable != NULL ? searchable->operators : SETS | ORDER;
    const struct str text = json_text(value);

    if (!is_text(value, path, problems))
        return;
    if (!operator_of(text, &reading->filter->op) || (allowed & 1u << reading->filter->op) == 0)
        problems_add(problems, "invalid_operator", path, "%s is not supported here; use one of: %s",
                     operator_name(text), operators_text(allowed, problems->arena));
}

/* -- value ----------------------------------------------------------------------------------------
 */

static const char *const states[] = {"open", "closed", NULL};
static const char *const statuses[] = {"active",   "waiting",  "human_takeover",
                                       "resolved", "archived", NULL};

static bool read_choice(const json_t *value, const char *const *choices, const char *path,
                        struct str *out, struct problems *problems)
{
    const struct str text = json_text(value);
    struct buf list;

    buf_init(&list, problems->arena, 64);
    for (size_t i = 0; choices[i] != NULL; i++) {
        if (text.p != NULL && str_equal(text, str_of(choices[i]))) {
            *out = str_of(choices[i]);
            return true;
        }
        buf_printf(&list, "%s%s", i == 0 ? "" : ", ", choices[i]);
    }
    problems_add(problems, INVALID, path, "must be one of: %.*s", STR_ARG(buf_str(&list)));
    return false;
}

static bool read_text(const json_t *value, const char *path, struct str *out,
                      struct problems *problems)
{
    if (!is_text(value, path, problems))
        return false;
    *out = arena_str(problems->arena, json_text(value));
    return true;
}

static bool read_identifier(const json_t *value, const char *path, struct str *out,
                            struct problems *problems)
{
    size_t length;

    if (!read_text(value, path, out, problems))
        return false;
    length = text_length(*out);
    if (length < 1 || length > IDENTIFIER_MOST)
        problems_add(problems, INVALID, path, "must be 1 to %d characters long", IDENTIFIER_MOST);
    else if (text_has_outer_space(*out))
        problems_add(problems, INVALID, path, "must not begin or end with white space");
    else
        return true;
    return false;
}

/* As JSON text; a number as it was spelled, for a double may not be what was sent. */
static bool read_attribute(const json_t *value, const struct literals *literals, const char *path,
                           struct str *out, struct problems *problems)
{
    struct str text = json_text(value);
    struct buf quoted;

    if (json_is_number(value)) {
        *out = arena_str(problems->arena, literals_find(literals, value));
        return true;
    }
    if (json_is_boolean(value)) {
        *out = json_is_true(value) ? STR("true") : STR("false");
        return true;
    }
    if (text.p == NULL || text_has_nul(text) || text_length(text) > ATTRIBUTE_TEXT_MOST) {
        problems_add(problems, INVALID, path,
                     "must be a string of at most %d characters without U+0000, a number, true or "
                     "false",
                     ATTRIBUTE_TEXT_MOST);
        return false;
    }
    buf_init(&quoted, problems->arena, text.n + 2);
    json_add_string(&quoted, text);
    *out = buf_str(&quoted);
    return true;
}

static bool read_scalar(const json_t *value, enum value_kind kind, const struct reading *reading,
                        const char *path, struct str *out, struct problems *problems)
{
    switch (kind) {
    case VALUE_IDENTIFIER:
        return read_identifier(value, path, out, problems);
    case VALUE_STATE:
        return read_choice(value, states, path, out, problems);
    case VALUE_STATUS:
        return read_choice(value, statuses, path, out, problems);
    case VALUE_ATTRIBUTE:
        return read_attribute(value, reading->literals, path, out, problems);
    case VALUE_TEXT:
    case VALUE_SECONDS:
        break;
    }
    return read_text(value, path, out, problems);
}

static void read_list(const json_t *value, enum value_kind kind, const struct reading *reading,
                      const char *path, struct problems *problems)
{
    struct filter *filter = reading->filter;
    const size_t n = json_array_size(value); /* 0 when it is no array */

    if (n < 1 || n > FILTER_VALUES_MOST) {
        problems_add(problems, INVALID, path, "must be an array of 1 to %d values",
                     FILTER_VALUES_MOST);
        return;
    }
    filter->values = ARENA_ARRAY(problems->arena, struct str, n);
    filter->n_values = n;
    for (size_t i = 0; i < n && problems->n < PROBLEMS_MOST; i++)
        read_scalar(json_array_get(value, i), kind, reading,
                    arena_printf(problems->arena, "%s[%zu]", path, i), &filter->values[i],
                    problems);
}

/* What a value may be depends on field and operator; where they are wrong, that is said there. */
static void read_value(json_t *value, const char *path, void *slot, struct problems *problems)
{
    struct reading *reading = slot;
    struct filter *filter = reading->filter;
    const struct searchable *searchable = searchable_of(json_member_text(reading->object, "field"));
    enum filter_operator op;

    if (searchable == NULL || !operator_of(json_member_text(reading->object, "operator"), &op) ||
        (searchable->operators & 1u << op) == 0)
        return;
    if (op == OPERATOR_IN || op == OPERATOR_NOT_IN) {
        read_list(value, searchable->value, reading, path, problems);
    } else if (searchable->value == VALUE_SECONDS) {
        filter->seconds = json_integer_value(value);
        if (!json_is_integer(value))
            problems_add(problems, INVALID, path, "must be an integer, Unix seconds");
    } else {
        filter->values = ARENA_NEW(problems->arena, struct str);
        filter->n_values = 1;
        read_scalar(value, searchable->value, reading, path, filter->values, problems);
    }
}

void filter_read(json_t *value, const char *path, const struct literals *literals,
                 struct filter *filter, bool *names_contact, struct problems *problems)
{
    static const struct field members[] = {
        {.name = "field", .kind = FIELD_CUSTOM, .required = true, .read = read_field},
        {.name = "operator", .kind = FIELD_CUSTOM, .required = true, .read = read_operator},
        {.name = "value", .kind = FIELD_CUSTOM, .required = true, .read = read_value},
    };
    struct reading reading = {.object = value, .literals = literals, .filter = filter};

    *filter = (struct filter){0};
    fields_read(value, path, members, sizeof(members) / sizeof(members[0]), &reading, problems);
    *names_contact = reading.names_contact;
}
