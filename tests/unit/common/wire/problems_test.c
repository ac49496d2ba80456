#include "common/wire/problems.h"

#include <criterion/criterion.h>
#include <string.h>

static struct arena arena;
static struct problems problems;

static void setup(void)
{
    arena_init(&arena, 1 << 20);
    problems_init(&problems, &arena);
}

static void teardown(void)
{
    arena_release(&arena);
}

TestSuite(problems, .init = setup, .fini = teardown);

static struct str written(void)
{
    struct buf out;

    buf_init(&out, &arena, 64);
    problems_write(&problems, &out);
    return buf_str(&out);
}

Test(problems, none_is_an_empty_array)
{
    cr_assert(str_equal(written(), STR("[]")));
}

Test(problems, stand_in_the_order_they_came)
{
    char field[] = "from.email";

    problems_add(&problems, "parameter_invalid", field, "at most %d \"characters\"", 255);
    memset(field, 'x', sizeof(field) - 1);
    problems_add(&problems, "not_found", NULL, "no such thing");
    cr_assert(str_equal(written(), STR("[{\"code\":\"parameter_invalid\",\"message\":\"at most 255 "
                                       "\\\"characters\\\"\",\"field\":\"from.email\"},"
                                       "{\"code\":\"not_found\",\"message\":\"no such thing\"}]")),
              "%.*s", STR_ARG(written()));
}

Test(problems, beyond_the_tenth_are_dropped)
{
    for (int i = 1; i <= PROBLEMS_MOST + 5; i++)
        problems_add(&problems, "c", NULL, "%d", i);
    cr_assert_eq(problems.n, PROBLEMS_MOST);
    cr_assert_str_eq(problems.at[PROBLEMS_MOST - 1].message, "10");
}
