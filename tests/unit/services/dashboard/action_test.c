#include "services/dashboard/action.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* -- paths ----------------------------------------------------------------------------------- */

static bool fits(const char *path, const char *pattern, const char *id)
{
    struct str found;

    return path_matches(str_of(path), pattern, &found) && str_equal(found, str_of(id));
}

Test(path, fits_byte_by_byte)
{
    cr_expect(fits("/data/keys", "/data/keys", NULL));
    cr_expect(fits("/data/keys/a-B_9", "/data/keys/*", "a-B_9"));
    cr_expect(fits("/data/keys/a/revoke", "/data/keys/*/revoke", "a"));
    cr_expect_not(fits("/data/keys/", "/data/keys", NULL));
    cr_expect_not(fits("/data/Keys", "/data/keys", NULL));
    cr_expect_not(fits("/data/%6beys", "/data/keys", NULL));
    cr_expect_not(fits("//data/keys", "/data/keys", NULL));
}

Test(path, takes_nothing_but_an_id_for_a_star)
{
    static const char *const others[] = {"/k/",       "/k/a/",   "/k/..",      "/k/a%20",
                                         "/k/a b",    "/k/a;b",  "/k/a.b",     "/k/a/b",
                                         "/k/%2e%2e", "/k/a\\b", "/k/\xc3\xa9"};
    char longest[8 + PATH_ID_MAX + 1] = "/k/";

    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        struct str id;

        cr_expect_not(path_matches(str_of(others[i]), "/k/*", &id), "%s", others[i]);
    }
    memset(longest + 3, 'a', PATH_ID_MAX);
    cr_expect(fits(longest, "/k/*", longest + 3));
    longest[3 + PATH_ID_MAX] = 'a';
    cr_expect_not(fits(longest, "/k/*", longest + 3));
}

/* -- actions --------------------------------------------------------------------------------- */

struct row {
    const char *method, *path;
    enum role min;
    unsigned fills;
};

/* The rows of the same table, read again: rules that must hold for each. */
static const struct row rows[] = {
#define ACTION(method_, path_, subject_, min_, kind_, body_, fills_, query_)                       \
    {#method_, path_, ROLE_##min_, fills_},
#include "services/dashboard/action.def"
#undef ACTION
};
#define N_ROWS ARRAY_SIZE(rows)

static const struct action *find(const char *method, const char *path)
{
    static struct action_match match;

    action_find(str_of(method), str_of(path), &match);
    return match.end == ACTION_FOUND ? match.action : NULL;
}

static const char *with_id(const char *pattern)
{
    static char path[128];
    const char *star = strchr(pattern, '*');

    if (star == NULL)
        return pattern;
    snprintf(path, sizeof(path), "%.*s0199-a%s", (int)(star - pattern), pattern, star + 1);
    return path;
}

Test(action, is_found_by_each_row)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        const struct action *action = find(rows[i].method, with_id(rows[i].path));

        cr_assert_not_null(action, "%s %s", rows[i].method, rows[i].path);
        cr_expect_str_eq(action->path, rows[i].path);
        cr_expect_eq(action->min, rows[i].min);
    }
}

Test(action, of_a_path_with_an_id_uses_it)
{
    for (size_t i = 0; i < N_ROWS; i++)
        cr_expect_eq((rows[i].fills & FILL_ID) != 0, strchr(rows[i].path, '*') != NULL, "%s %s",
                     rows[i].method, rows[i].path);
}

/* The state of the services belongs to the deployment, not to an organization. */
Test(action, that_reads_is_for_every_member_if_it_is_of_the_organization)
{
    for (size_t i = 0; i < N_ROWS; i++)
        if (strcmp(rows[i].method, "GET") == 0)
            cr_expect_eq(rows[i].min,
                         strcmp(rows[i].path, "/data/services") == 0 ? ROLE_OWNER : ROLE_MEMBER,
                         "%s", rows[i].path);
}

Test(action, that_a_member_may_make_is_about_their_own_sessions)
{
    for (size_t i = 0; i < N_ROWS; i++)
        if (strcmp(rows[i].method, "GET") != 0 && rows[i].min == ROLE_MEMBER)
            cr_expect(strncmp(rows[i].path, "/data/session", 13) == 0 ||
                          strcmp(rows[i].path, "/data/password") == 0 ||
                          strcmp(rows[i].path, "/data/invitation") == 0,
                      "%s %s", rows[i].method, rows[i].path);
}

Test(action, is_not_found_by_another_method_or_path)
{
    struct action_match match;

    action_find(STR("PATCH"), STR("/data/keys"), &match);
    cr_expect_eq(match.end, ACTION_NO_METHOD);
    cr_expect_str_eq(match.allow, "GET, POST");
    action_find(STR("get"), STR("/data/keys"), &match);
    cr_expect_eq(match.end, ACTION_NO_METHOD);
    action_find(STR("GET"), STR("/data/keys/"), &match);
    cr_expect_eq(match.end, ACTION_UNKNOWN);
    action_find(STR("GET"), STR("/data/nothing"), &match);
    cr_expect_eq(match.end, ACTION_UNKNOWN);
}

/* -- parameters ------------------------------------------------------------------------------ */

static const struct parameter list[] = {{"name", false}, {"count", true}, {NULL, false}};

static void expect(const char *query, const char *json)
{
    json_t *object = json_object();
    char field[64] = "";
    char *text;

    cr_assert(parameters_read(str_of(query), list, object, field), "%s: %s", query, field);
    text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
    cr_expect_str_eq(text, json);
    free(text);
    json_decref(object);
}

static void expect_refused(const char *query, const char *at_fault)
{
    json_t *object = json_object();
    char field[64] = "";

    cr_expect_not(parameters_read(str_of(query), list, object, field), "%s", query);
    cr_expect_str_eq(field, at_fault, "%s: %s", query, field);
    json_decref(object);
}

Test(parameters, become_members)
{
    expect(NULL, "{}");
    expect("", "{}");
    expect("count=10&name=a", "{\"count\":10,\"name\":\"a\"}");
    expect("name=", "{\"name\":\"\"}");
    expect("name=a%20b+c%C3%a9", "{\"name\":\"a b c\xc3\xa9\"}");
    expect("name=%22%3C%3D%26", "{\"name\":\"\\\"<=&\"}");
    expect("count=9223372036854775807", "{\"count\":9223372036854775807}");
}

Test(parameters, that_are_not_taken_are_refused_by_name)
{
    expect_refused("other=1", "other");
    expect_refused("name=a&name=a", "name");
    expect_refused("name", "name");
    expect_refused("name=a&", "");
    expect_refused("&name=a", "");
    expect_refused("=a", "");
    expect_refused("n%61me=a", "n_61me");
    expect_refused("<script>=1", "_script_");
    expect_refused("a\"b=1", "a_b");
}

Test(parameters, with_values_that_cannot_be_are_refused)
{
    expect_refused("name=%", "name");
    expect_refused("name=%4", "name");
    expect_refused("name=%zz", "name");
    expect_refused("name=%00", "name");
    expect_refused("name=%ff", "name");
    expect_refused("name=%c0%80", "name");
    expect_refused("name=%ed%a0%80", "name");
    expect_refused("count=", "count");
    expect_refused("count=-1", "count");
    expect_refused("count=+1", "count");
    expect_refused("count=1.0", "count");
    expect_refused("count=9223372036854775808", "count");
}

Test(parameters, are_of_bounded_length)
{
    char query[8 + PARAMETERS_VALUE_MAX + 1] = "name=";

    memset(query + 5, 'a', PARAMETERS_VALUE_MAX + 1);
    expect_refused(query, "name");
    memset(query, 'b', 80);
    expect_refused(query, "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb");
}
