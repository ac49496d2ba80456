#include "services/dashboard/action.h"

#include <stdio.h>
#include <string.h>

#include "common/base/ascii.h"
#include "common/base/text.h"
#include "proto/subject.h"

/* -- paths ----------------------------------------------------------------------------------- */

static bool is_of_id(char c)
{
    return ascii_is_alphanumeric(c) || c == '-' || c == '_';
}

bool path_matches(struct str path, const char *pattern, struct str *id)
{
    const char *star = strchr(pattern, '*');
    struct str rest;
    size_t n = 0;

    *id = STR_NONE;
    if (star == NULL)
        return str_equal(path, str_of(pattern));
    if (!str_starts(path, (struct str){pattern, (size_t)(star - pattern)}))
        return false;
    rest = str_skip(path, (size_t)(star - pattern));
    while (n < rest.n && is_of_id(rest.p[n]))
        n++;
    if (n == 0 || n > PATH_ID_MAX || !str_equal(str_skip(rest, n), str_of(star + 1)))
        return false;
    *id = (struct str){rest.p, n};
    return true;
}

/* -- actions --------------------------------------------------------------------------------- */

static const struct parameter no_query[] = {{NULL, false}};
static const struct parameter audit_query[] = {
    {"per_page", true},         {"starting_after", false},   {"operation", false},
    {"outcome", false},         {"api_key_id", false},       {"conversation_id", false},
    {"created_at_after", true}, {"created_at_before", true}, {NULL, false},
};
static const struct parameter changes_query[] = {{"per_page", true},
                                                 {"starting_after", false},
                                                 {"change", false},
                                                 {"who", false},
                                                 {NULL, false}};
static const struct parameter inbox_query[] = {
    {"channel", false}, {"status", false},         {"contact", false},
    {"per_page", true}, {"starting_after", false}, {NULL, false},
};
static const struct parameter export_query[] = {{"after", true}, {"before", true}, {NULL, false}};
static const struct parameter before_query[] = {{"before", false}, {NULL, false}};
static const struct parameter deliveries_query[] = {
    {"limit", true}, {"before", false}, {NULL, false}};
static const struct parameter range_query[] = {{"range", false}, {NULL, false}};

static const struct action actions[] = {
#define ACTION(method_, path_, subject_, min_, kind_, body_, fills_, query_)                       \
    {                                                                                              \
        .method = #method_,                                                                        \
        .path = (path_),                                                                           \
        .subject = SUBJECT_##subject_,                                                             \
        .min = ROLE_##min_,                                                                        \
        .kind = ACTION_##kind_,                                                                    \
        .body = BODY_##body_,                                                                      \
        .fills = (fills_),                                                                         \
        .query = (query_),                                                                         \
    },
#include "services/dashboard/action.def"
#undef ACTION
};

static void allow(struct action_match *out, const char *method)
{
    size_t n = strlen(out->allow);

    snprintf(out->allow + n, sizeof(out->allow) - n, "%s%s", n > 0 ? ", " : "", method);
}

void action_find(struct str method, struct str path, struct action_match *out)
{
    *out = (struct action_match){.end = ACTION_UNKNOWN, .id = STR_NONE};
    for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
        struct str id;

        if (!path_matches(path, actions[i].path, &id))
            continue;
        if (str_equal(method, str_of(actions[i].method))) {
            out->end = ACTION_FOUND;
            out->action = &actions[i];
            out->id = id;
            return;
        }
        out->end = ACTION_NO_METHOD;
        allow(out, actions[i].method);
    }
}

/* -- parameters ------------------------------------------------------------------------------ */

static json_t *value_of(const struct parameter *parameter, struct str raw)
{
    char text[PARAMETERS_VALUE_MAX];
    struct str value;
    uint64_t number;

    if (!text_decode_form(raw, text, sizeof(text), &value))
        return NULL;
    if (!parameter->is_number)
        return json_stringn(value.p, value.n);
    return str_to_u64(value, INT64_MAX, &number) ? json_integer((json_int_t)number) : NULL;
}

static const struct parameter *find(const struct parameter *list, struct str name)
{
    for (; list->name != NULL; list++)
        if (str_equal(name, str_of(list->name)))
            return list;
    return NULL;
}

/* Only letters, digits and underscores, so that the name is safe to show anywhere. */
static void blame(struct str name, char field[64])
{
    size_t n = 0;

    for (size_t i = 0; i < name.n && n < 63; i++) {
        char c = name.p[i];
        bool is_plain = ascii_is_alphanumeric(c);

        field[n++] = is_plain ? c : '_';
    }
    field[n] = '\0';
}

bool parameters_read(struct str query, const struct parameter *list, json_t *object, char field[64])
{
    struct str rest = query.n > 0 ? query : STR_NONE;

    while (rest.p != NULL) {
        struct str raw = str_cut(&rest, '&');
        struct str name = str_cut(&raw, '=');
        const struct parameter *parameter = find(list, name);
        json_t *value = NULL;

        if (parameter != NULL && raw.p != NULL && json_object_get(object, parameter->name) == NULL)
            value = value_of(parameter, raw);
        if (value == NULL || json_object_set_new(object, parameter->name, value) != 0) {
            blame(name, field);
            return false;
        }
    }
    return true;
}
