#include "services/search/filter.h"

#include "common/wire/fields.h"
#include "common/wire/text.h"

#define INVALID "parameter_invalid"

#define IDENTIFIER_MOST     255
#define ATTRIBUTE_TEXT_MOST 500

/* A filter while it is read, and where its members look at one another. */
struct reading {
    const json_t *object;
    const struct literals *literals;
    struct filter *filter;
    bool names_contact;
};

/* -- a filter's field
 * ----------------------------------------------------------------------------------- */

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
    const struct str name = json_text(value);
    const struct searchable *searchable = grammar_field(name);

    if (!is_text(value, path, problems))
        return;
    if (searchable == NULL) {
        problems_add(problems, "invalid_field", path, "cannot be searched; use one of: %s",
                     grammar_fields_text(problems->arena));
        return;
    }
    reading->names_contact = filter_names_contact(searchable->field);
    reading->filter->field = searchable->field;
    if (searchable->field == FILTER_ATTRIBUTE)
        reading->filter->key =
            arena_str(problems->arena, str_skip(name, sizeof(GRAMMAR_ATTRIBUTES) - 1));
}

/* -- operator -------------------------------------------------------------------------------- */

static const struct searchable *field_of(const struct reading *reading)
{
    return grammar_field(json_member_text(reading->object, "field"));
}

static void read_operator(json_t *value, const char *path, void *slot, struct problems *problems)
{
    struct reading *reading = slot;
    const struct searchable *searchable = field_of(reading);
    const struct str text = json_text(value);

    if (!is_text(value, path, problems))
        return;
    if (!grammar_operator(text, &reading->filter->op) ||
        !grammar_allows(searchable, reading->filter->op))
        problems_add(problems, "invalid_operator", path, "%s is not supported here; use one of: %s",
                     grammar_operator_name(text),
                     grammar_operators_text(searchable, problems->arena));
}

/* -- value ----------------------------------------------------------------------------------- */

static const char *const states[] = {"open", "closed", NULL};
static const char *const statuses[] = {"active",   "waiting",  "human_takeover",
                                       "resolved", "archived", NULL};

static void read_choice(const json_t *value, const char *const *choices, const char *path,
                        struct str *out, struct problems *problems)
{
    const struct str text = json_text(value);
    struct buf list;

    buf_init(&list, problems->arena, 64);
    for (size_t i = 0; choices[i] != NULL; i++) {
        if (text.p != NULL && str_equal(text, str_of(choices[i]))) {
            *out = str_of(choices[i]);
            return;
        }
        buf_printf(&list, "%s%s", i == 0 ? "" : ", ", choices[i]);
    }
    problems_add(problems, INVALID, path, "must be one of: %.*s", STR_ARG(buf_str(&list)));
}

static void read_text(const json_t *value, const char *path, struct str *out,
                      struct problems *problems)
{
    if (is_text(value, path, problems))
        *out = arena_str(problems->arena, json_text(value));
}

static void read_identifier(const json_t *value, const char *path, struct str *out,
                            struct problems *problems)
{
    const struct str text = json_text(value);
    size_t length;

    if (!is_text(value, path, problems))
        return;
    length = text_length(text);
    if (length < 1 || length > IDENTIFIER_MOST)
        problems_add(problems, INVALID, path, "must be 1 to %d characters long", IDENTIFIER_MOST);
    else if (text_has_outer_space(text))
        problems_add(problems, INVALID, path, "must not begin or end with white space");
    else
        *out = arena_str(problems->arena, text);
}

/* As JSON text; a number as it was spelled, for a double may not be what was sent. */
static void read_attribute(const json_t *value, const struct literals *literals, const char *path,
                           struct str *out, struct problems *problems)
{
    const struct str text = json_text(value);
    struct buf quoted;

    if (json_is_number(value)) {
        *out = arena_str(problems->arena, literals_find(literals, value));
    } else if (json_is_boolean(value)) {
        *out = json_is_true(value) ? STR("true") : STR("false");
    } else if (text.p == NULL) {
        problems_add(problems, INVALID, path, "must be a string, a number, true or false");
    } else if (text_length(text) > ATTRIBUTE_TEXT_MOST) {
        problems_add(problems, INVALID, path, "must be at most %d characters long",
                     ATTRIBUTE_TEXT_MOST);
    } else if (is_text(value, path, problems)) {
        buf_init(&quoted, problems->arena, text.n + 2);
        json_add_string(&quoted, text);
        *out = buf_str(&quoted);
    }
}

static void read_scalar(const json_t *value, enum value_kind kind, const struct reading *reading,
                        const char *path, struct str *out, struct problems *problems)
{
    switch (kind) {
    case VALUE_IDENTIFIER:
        read_identifier(value, path, out, problems);
        return;
    case VALUE_STATE:
        read_choice(value, states, path, out, problems);
        return;
    case VALUE_STATUS:
        read_choice(value, statuses, path, out, problems);
        return;
    case VALUE_ATTRIBUTE:
        read_attribute(value, reading->literals, path, out, problems);
        return;
    case VALUE_TEXT:
    case VALUE_SECONDS: /* never: a time has no list */
        read_text(value, path, out, problems);
        return;
    }
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
    const struct searchable *searchable = field_of(reading);
    enum filter_operator op;

    if (searchable == NULL ||
        !grammar_operator(json_member_text(reading->object, "operator"), &op) ||
        !grammar_allows(searchable, op))
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
