#include "services/dashboard/backend.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

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
