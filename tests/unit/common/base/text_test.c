#include <criterion/criterion.h>
#include <string.h>

#include "common/base/text.h"

Test(text, counts_code_points)
{
    cr_assert_eq(text_length(STR("")), 0);
    cr_assert_eq(text_length(STR_NONE), 0);
    cr_assert_eq(text_length(STR("a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80")), 4);
}

Test(text, finds_nul_wherever_it_is)
{
    cr_assert_not(text_has_nul(STR("abc")));
    cr_assert_not(text_has_nul(STR_NONE));
    cr_assert(text_has_nul(STR("\0")));
    cr_assert(text_has_nul(STR("abc\0")));
}

/* The property White_Space as the Unicode Character Database lists it. */
static const uint32_t spaces[25] = {
    0x09,   0x0A,   0x0B,   0x0C,   0x0D,   0x20,   0x85,   0xA0,   0x1680,
    0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008,
    0x2009, 0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000,
};

static bool is_listed(uint32_t code)
{
    for (size_t i = 0; i < 25; i++)
        if (spaces[i] == code)
            return true;
    return false;
}

Test(text, knows_exactly_the_white_space_of_unicode)
{
    for (uint32_t code = 1; code <= 0x10FFFF; code++) {
        char front[8] = "", behind[8] = "x";
        size_t n;

        if (code >= 0xD800 && code <= 0xDFFF)
            continue;
        n = utf8_encode(code, front);
        front[n] = 'x';
        utf8_encode(code, behind + 1);
        if (text_has_outer_space((struct str){front, n + 1}) != is_listed(code) ||
            text_has_outer_space((struct str){behind, n + 1}) != is_listed(code))
            cr_assert_fail("U+%04X", code);
    }
}

Test(text, has_no_outer_space_when_it_is_inside_or_nowhere)
{
    cr_assert_not(text_has_outer_space(STR("")));
    cr_assert_not(text_has_outer_space(STR_NONE));
    cr_assert_not(text_has_outer_space(STR("a \xC2\xA0 b")));
    cr_assert(text_has_outer_space(STR(" ")));
}

Test(text, trims_both_ends)
{
    cr_assert(str_equal(text_trim(STR(" \xE3\x80\x80+49 1\xC2\xA0\n")), STR("+49 1")));
    cr_assert(str_equal(text_trim(STR("a")), STR("a")));
    cr_assert_eq(text_trim(STR(" \xE2\x80\xA8 ")).n, 0);
    cr_assert_eq(text_trim(STR("")).n, 0);
}

static void assert_lower(struct str from, struct str to)
{
    struct arena arena;
    struct str lower;

    arena_init(&arena, 1 << 16);
    lower = text_lower(&arena, from);
    cr_assert(str_equal(lower, to), "%.*s -> %.*s", STR_ARG(from), STR_ARG(lower));
    arena_release(&arena);
}

Test(text, lowers_letters_of_many_scripts)
{
    assert_lower(STR("Ada.LOVELACE+1@Example.ORG"), STR("ada.lovelace+1@example.org"));
    assert_lower(STR("ÄÖÜÉÑÞ"), STR("äöüéñþ"));
    assert_lower(STR("ĀČĐŁŐŽ"), STR("āčđłőž"));
    assert_lower(STR("ΑΣΏ"), STR("ασώ"));
    assert_lower(STR("ЖЯЁ"), STR("жяё"));
    assert_lower(STR("ԱՖ"), STR("աֆ"));
    assert_lower(STR("\xE1\xB2\x90"), STR("\xE1\x83\x90")); /* Georgian, U+1C90 to U+10D0 */
}

Test(text, keeps_characters_without_lower_case)
{
    assert_lower(STR("straße 1 中文 😀"), STR("straße 1 中文 😀"));
    assert_lower(STR(""), STR(""));
    assert_lower(STR("a\xFFZ"), STR("a\xFFz"));
}

Test(text, lower_case_may_take_more_bytes)
{
    assert_lower(STR("ȺȺȺ"), STR("ⱥⱥⱥ")); /* two bytes to three */
    assert_lower(STR("ẞ"), STR("ß"));
}

Test(text, lowering_twice_changes_nothing)
{
    struct arena arena;

    arena_init(&arena, 1 << 30);
    for (uint32_t code = 0; code <= 0x10FFFF; code++) {
        char bytes[UTF8_MAX];
        struct str once, twice;

        if (code >= 0xD800 && code <= 0xDFFF)
            continue;
        once = text_lower(&arena, (struct str){bytes, utf8_encode(code, bytes)});
        twice = text_lower(&arena, once);
        if (!text_is_utf8(once) || !str_equal(once, twice))
            cr_assert_fail("U+%04X", code);
        arena_clear(&arena);
    }
    arena_release(&arena);
}

Test(text, distinguishes_utf8_from_other_bytes)
{
    cr_assert(text_is_utf8(STR("")));
    cr_assert(text_is_utf8(STR("a\0\xC3\xA4\xF4\x8F\xBF\xBF")));
    cr_assert_not(text_is_utf8(STR("abc\xC3")));
    cr_assert_not(text_is_utf8(STR("\xED\xA0\x80")));
    cr_assert_not(text_is_utf8(STR("a\x80")));
}

Test(text, decodes_a_form_or_refuses_it)
{
    static const char *const wrong[] = {"%", "%2", "a%2", "%zz", "%2g", "%00", "%ff", "%ed%a0%80"};
    char capacity[8];
    struct str out;

    cr_assert(text_decode_form(STR("a+%2B%c3%A4"), capacity, sizeof(capacity), &out));
    cr_assert(str_equal(out, STR("a +\xC3\xA4")));
    cr_assert(text_decode_form(STR(""), capacity, 0, &out));
    cr_assert_eq(out.n, 0);
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        cr_assert_not(text_decode_form(str_of(wrong[i]), capacity, sizeof(capacity), &out), "%s",
                      wrong[i]);
    cr_assert(text_decode_form(STR("%61%61%61"), capacity, 3, &out),
              "the limit applies to the decoded text");
    cr_assert_not(text_decode_form(STR("aaaa"), capacity, 3, &out));
}

Test(utf8, reads_back_every_code_point_it_writes)
{
    for (uint32_t code = 0; code <= 0x10FFFF; code++) {
        char bytes[UTF8_MAX];
        uint32_t back = 0;
        size_t n;

        if (code >= 0xD800 && code <= 0xDFFF)
            continue;
        n = utf8_encode(code, bytes);
        if (utf8_decode((struct str){bytes, n}, &back) != n || back != code)
            cr_assert_fail("U+%04X", code);
        /* Cut short it is malformed. */
        if (utf8_decode((struct str){bytes, n - 1}, &back) != 0)
            cr_assert_fail("U+%04X without its last byte", code);
    }
}

Test(utf8, refuses_malformed_bytes)
{
    static const char *const bad[] = {
        "\x80",             /* tail alone */
        "\xC0\x80",         /* overlong NUL */
        "\xC1\xBF",         /* overlong U+007F */
        "\xE0\x9F\xBF",     /* overlong U+07FF */
        "\xF0\x8F\xBF\xBF", /* overlong U+FFFF */
        "\xED\xA0\x80",     /* U+D800 */
        "\xED\xBF\xBF",     /* U+DFFF */
        "\xF4\x90\x80\x80", /* U+110000 */
        "\xF5\x80\x80\x80",
        "\xFF",
        "\xC3(",
        "\xE2\x82(",
    };
    uint32_t code = 7;

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        cr_assert_eq(utf8_decode(str_of(bad[i]), &code), 0, "case %zu", i);
    cr_assert_eq(utf8_decode(STR(""), &code), 0);
    cr_assert_eq(code, 7);
}
