#include "common/db/array.h"

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

TestSuite(array, .init = start, .fini = stop);

static void assert_closes_as(struct buf *array, const char *text)
{
    cr_assert_str_eq(arena_cstr(&arena, array_close(array)), text);
}

Test(array, quotes_texts_as_postgresql_reads_them)
{
    struct buf array;

    array_open(&array, &arena, 1);
    array_add(&array, STR("plain"));
    array_add(&array, STR_NONE);
    array_add(&array, STR("NULL"));
    array_add(&array, STR(""));
    array_add(&array, STR("\"{a,\\b}\""));
    assert_closes_as(&array, "{\"plain\",NULL,\"NULL\",\"\",\"\\\"{a,\\\\b}\\\"\"}");
}

Test(array, leaves_numbers_and_ids_without_quotes)
{
    const struct uuid id = {{0xab}};
    struct buf array;

    array_open(&array, &arena, 1);
    array_add_int(&array, -7);
    array_add_plain(&array, STR("a0"));
    array_add_id(&array, &id);
    assert_closes_as(&array, "{-7,a0,ab000000-0000-0000-0000-000000000000}");
}

Test(array, may_be_empty)
{
    struct buf array;

    array_open(&array, &arena, 1);
    assert_closes_as(&array, "{}");
}
