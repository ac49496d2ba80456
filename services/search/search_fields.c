#include "services/search/search_fields.h"

#include "common/base/buf.h"

#define ATTRIBUTE_KEY_MAX 64

static const char *const operators[] = {
    [OPERATOR_EQUAL] = "=",    [OPERATOR_NOT_EQUAL] = "!=", [OPERATOR_IN] = "IN",
    [OPERATOR_NOT_IN] = "NIN", [OPERATOR_ABOVE] = ">",      [OPERATOR_BELOW] = "<",
};
enum { OPERATORS = sizeof(operators) / sizeof(operators[0]) };

/* Operators of the interface that search follows, which it leaves out. */
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
enum { SEARCHABLES = sizeof(searchables) / sizeof(searchables[0]) };

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_key_part(char c)
{
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

/* A key that an attribute can have. */
static bool is_attribute_key(struct str key)
{
    const struct str reserved = STR("service_");

    if (key.n == 0 || key.n > ATTRIBUTE_KEY_MAX || !is_letter(key.p[0]))
        return false;
    for (size_t i = 1; i < key.n; i++) {
        if (!is_key_part(key.p[i]))
            return false;
    }
    return key.n < reserved.n || !str_equal_nocase((struct str){key.p, reserved.n}, reserved);
}

const struct search_field *search_field_find(struct str name)
{
    const struct str attributes = STR(SEARCH_FIELD_ATTRIBUTES);

    for (size_t i = 0; name.p != NULL && i < SEARCHABLES; i++) {
        const struct search_field *s = &searchables[i];

        if (s->field == FILTER_ATTRIBUTE
                ? str_starts(name, attributes) && is_attribute_key(str_skip(name, attributes.n))
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
    for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++) {
        if (str_equal(text, str_of(left_out[i])))
            return left_out[i];
    }
    return "this operator";
}
