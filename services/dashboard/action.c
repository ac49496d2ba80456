#include "services/dashboard/action.h"

#include <stdio.h>
#include <string.h>

#include "proto/subject.h"
#include "services/dashboard/path.h"

static const struct parameter no_query[] = {{NULL, false}};
static const struct parameter audit_query[] = {
    {"per_page", true},         {"starting_after", false},   {"operation", false},
    {"outcome", false},         {"api_key_id", false},       {"conversation_id", false},
    {"created_at_after", true}, {"created_at_before", true}, {NULL, false},
};
static const struct parameter page_query[] = {
    {"per_page", true}, {"starting_after", false}, {NULL, false}};
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
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
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
