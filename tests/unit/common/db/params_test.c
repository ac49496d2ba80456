#include "common/db/params.h"

#include <criterion/criterion.h>

static struct arena arena;

static void start(void)
{
    arena_init(&arena, 1 << 20);
}

static void stop(void)
{
    arena_release(&arena);
}

TestSuite(params, .init = start, .fini = stop);

Test(params, are_written_as_postgresql_reads_them_in_their_order)
{
    const struct uuid id = {.b = {0x01, 0x93, [15] = 0xff}};
    static const char *const texts[] = {"as it is", "true", "false", "-9223372036854775808",
                                        "01930000-0000-0000-0000-0000000000ff"};
    struct params params = {0};

    params_add(&params, STR("as it is"));
    params_add_bool(&params, true);
    params_add_bool(&params, false);
    params_add_int(&params, &arena, INT64_MIN);
    params_add_id(&params, &arena, &id);
    cr_assert_eq(params.n, 5);
    for (size_t i = 0; i < params.n; i++)
        cr_assert(str_equal(params.at[i], str_of(texts[i])), "parameter %zu", i + 1);
}

Test(params, keep_null_apart_from_the_empty_text)
{
    struct params params = {0};

    params_add(&params, STR_NONE);
    params_add(&params, STR(""));
    cr_assert_null(params.at[0].p);
    cr_assert_not_null(params.at[1].p);
}
