#include <criterion/criterion.h>
#include <string.h>

#include "common/db/params.h"

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

Test(params, of_a_literal_list_are_counted)
{
    const struct params *params = PARAMS(STR("a"), STR_NONE, (struct str){"bcd", 2});

    cr_assert_eq(params->n, 3);
    cr_expect(str_equal(params->at[2], STR("bc")));
    cr_expect_null(params->at[1].p);
    cr_expect_eq(params->binary, 0);
}

Test(params, know_which_of_them_are_in_binary)
{
    struct params params = {0}, other = {0};
    struct elements ids;

    ids_open(&ids, &arena, 0);
    params_add(&params, STR("a"));
    params_add_elements(&params, &ids);
    params_add_bytes(&params, STR("b"));
    cr_expect_eq(params.binary, 6);
    for (size_t i = params.n; i > 0; i--)
        params_add_from(&other, &params, i - 1);
    cr_expect_eq(other.binary, 3);
    cr_expect(str_equal(other.at[0], STR("b")));
    cr_expect(str_equal(other.at[2], STR("a")));
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

Test(array, writes_ids_as_postgresql_sends_them)
{
    static const char expected[] = "\0\0\0\1\0\0\0\1\0\0\x0b\x86\0\0\0\3\0\0\0\1"
                                   "\0\0\0\x10\xab\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                                   "\xff\xff\xff\xff"
                                   "\0\0\0\x10\1\2\3\4\5\6\7\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10";
    const struct uuid id = {{0xab}};
    struct params params = {0};
    struct elements ids;

    ids_open(&ids, &arena, 0);
    ids_add(&ids, &id);
    ids_add_text(&ids, STR_NONE);
    ids_add_text(&ids, STR("01020304-0506-0708-090a-0b0c0d0e0f10"));
    params_add_elements(&params, &ids);
    cr_assert_eq(params.at[0].n, sizeof(expected) - 1);
    cr_assert_eq(memcmp(params.at[0].p, expected, params.at[0].n), 0);
}
