#include "services/convctl/output.h"

#include <criterion/criterion.h>
#include <stdio.h>

/* The text is valid until the next call. */
static const char *indented(const char *json)
{
    static char text[256];
    FILE *to = fmemopen(text, sizeof(text), "w");

    cr_assert_not_null(to);
    output_indent(to, str_of(json));
    cr_assert_eq(fclose(to), 0);
    return text;
}

Test(output, has_a_line_for_each_member_and_element)
{
    cr_expect_str_eq(indented("{\"a\":1,\"b\":[true,null]}"), "{\n"
                                                              "  \"a\": 1,\n"
                                                              "  \"b\": [\n"
                                                              "    true,\n"
                                                              "    null\n"
                                                              "  ]\n"
                                                              "}");
}

Test(output, keeps_empty_values_on_their_line)
{
    cr_expect_str_eq(indented("{}"), "{}");
    cr_expect_str_eq(indented("[]"), "[]");
    cr_expect_str_eq(indented("[{},[]]"), "[\n  {},\n  []\n]");
}

Test(output, changes_nothing_inside_of_texts)
{
    cr_expect_str_eq(indented("{\"a{b\":\"c,d:[e]\"}"), "{\n  \"a{b\": \"c,d:[e]\"\n}");
    cr_expect_str_eq(indented("[\"\\\"{\",\"\\\\\",1]"), "[\n  \"\\\"{\",\n  \"\\\\\",\n  1\n]");
}

Test(output, keeps_the_digits_of_numbers)
{
    cr_expect_str_eq(indented("[12345678901234567890123,1.10]"),
                     "[\n  12345678901234567890123,\n  1.10\n]");
    cr_expect_str_eq(indented("7"), "7");
}

/* The input is not JSON, but must not be read beyond its end. */
Test(output, ends_with_its_input)
{
    static const char *const cut[] = {"", "\"", "\"a", "\"a\\", "{", "[", "}", "]]]", "{\"a\":"};

    for (size_t i = 0; i < ARRAY_SIZE(cut); i++)
        (void)indented(cut[i]);
    cr_expect_str_eq(indented("\"a\\"), "\"a\\");
}
