#include <criterion/criterion.h>
#include <string.h>

#include "common/json/errors.h"

static struct arena arena;
static struct errors errors;

static void setup(void)
{
    arena_init(&arena, 1 << 20);
    errors_init(&errors, &arena);
}

static void teardown(void)
{
    arena_release(&arena);
}

TestSuite(errors, .init = setup, .fini = teardown);

static struct str written(void)
{
    struct buf out;

    buf_init(&out, &arena, 64);
    errors_write(&errors, &out);
    return buf_str(&out);
}

Test(errors, none_is_an_empty_array)
{
    cr_assert(str_equal(written(), STR("[]")));
}

Test(errors, stand_in_the_order_they_came)
{
    char field[] = "from.email";

    errors_add(&errors, "parameter_invalid", field, "at most %d \"characters\"", 255);
    memset(field, 'x', sizeof(field) - 1);
    errors_add(&errors, "not_found", NULL, "no such thing");
    cr_assert(str_equal(written(), STR("[{\"code\":\"parameter_invalid\",\"message\":\"at most 255 "
                                       "\\\"characters\\\"\",\"field\":\"from.email\"},"
                                       "{\"code\":\"not_found\",\"message\":\"no such thing\"}]")),
              "%.*s", STR_ARG(written()));
}

Test(errors, beyond_the_tenth_are_dropped)
{
    for (int i = 1; i <= ERRORS_MAX + 5; i++)
        errors_add(&errors, "c", NULL, "%d", i);
    cr_assert_eq(errors.n, ERRORS_MAX);
    cr_assert_str_eq(errors.at[ERRORS_MAX - 1].message, "10");
}
