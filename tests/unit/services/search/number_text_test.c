#include "services/search/filter.h"

#include <criterion/criterion.h>

static struct arena arena;

static void open_arena(void)
{
    arena_init(&arena, 1 << 20);
}

static void close_arena(void)
{
    arena_release(&arena);
}

TestSuite(number_text, .init = open_arena, .fini = close_arena);

static json_t *read_json(const char *text, struct number_texts *out)
{
    char error[160];
    json_t *root;

    cr_assert(json_read(str_of(text), &root, error), "%s: %s", text, error);
    cr_assert(number_texts_read(str_of(text), root, &arena, out));
    return root;
}

Test(number_text, finds_each_number_as_it_was_spelled)
{
    static const char *const spelled[] = {"0", "-0", "1.0", "1.50", "-2.5E-3", "1e+2", "12345678"};
    struct number_texts numbers;
    json_t *root = read_json("[0,-0, 1.0 ,\n1.50,-2.5E-3,\t1e+2,12345678]", &numbers);

    cr_assert_eq(numbers.n, 7);
    for (size_t i = 0; i < 7; i++)
        cr_assert(
            str_equal(number_texts_find(&numbers, json_array_get(root, i)), str_of(spelled[i])));
    json_free(root);
}

Test(number_text, is_not_misled_by_strings_and_words)
{
    struct number_texts numbers;
    json_t *root = read_json("{\"7\\\"8\":\"-1\\\\\",\"a\":[true,false,null,{\"\\u00e9\":\"\\\\\"},"
                             "\"[9]\"],\"1e5\":{\"b\":0.1},\"c\":2}",
                             &numbers);

    cr_assert_eq(numbers.n, 2);
    cr_assert(
        str_equal(number_texts_find(&numbers, json_object_get(json_object_get(root, "1e5"), "b")),
                  STR("0.1")));
    cr_assert(str_equal(number_texts_find(&numbers, json_object_get(root, "c")), STR("2")));
    json_free(root);
}

Test(number_text, takes_a_number_alone_and_none_at_all)
{
    struct number_texts numbers;
    json_t *root = read_json("-7", &numbers);

    cr_assert(str_equal(number_texts_find(&numbers, root), STR("-7")));
    json_free(root);
    json_free(read_json("\"7\"", &numbers));
    cr_assert_eq(numbers.n, 0);
}

Test(number_text, of_another_text_are_refused)
{
    struct number_texts numbers;
    json_t *root = read_json("[1,2]", &numbers);

    cr_assert_not(number_texts_read(STR("[1]"), root, &arena, &numbers));
    cr_assert_not(number_texts_read(STR("[1,2,3]"), root, &arena, &numbers));
    json_free(root);
}
