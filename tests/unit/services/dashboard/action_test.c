#include "services/dashboard/backend.h"

#include <criterion/criterion.h>
#include <string.h>

struct row {
    const char *method, *path;
    enum role min;
    unsigned fills;
};

/* Read a second time from the same table: what it says of itself must hold of every row. */
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

Test(action, that_reads_is_for_every_member)
{
    for (size_t i = 0; i < N_ROWS; i++)
        if (strcmp(rows[i].method, "GET") == 0)
            cr_expect_eq(rows[i].min, ROLE_MEMBER, "%s", rows[i].path);
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
