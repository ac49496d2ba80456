#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "common/json/json.h"

static char error[160];

static json_t *read_or_fail(struct str text)
{
    json_t *value = NULL;

    cr_assert(json_read(text, &value, error), "%.*s: %s", STR_ARG(text), error);
    return value;
}

static void assert_accepted(struct str text)
{
    json_free(read_or_fail(text));
}

static void assert_refused(struct str text, const char *reason)
{
    json_t *value = NULL;

    cr_assert_not(json_read(text, &value, error), "%.*s", STR_ARG(text));
    cr_assert_null(value);
    cr_assert_not_null(strstr(error, reason), "%.*s: %s", STR_ARG(text), error);
}

/* `n` times `piece`. */
static char *repeat(char *out, const char *piece, size_t n)
{
    size_t length = strlen(piece);

    for (size_t i = 0; i < n; i++)
        memcpy(out + i * length, piece, length);
    out[n * length] = '\0';
    return out;
}

Test(json, accepts_every_kind_of_value)
{
    assert_accepted(STR(" {\"a\": [1, -2.5e+3, true, false, null, \"x\"]}\r\n\t"));
    assert_accepted(STR("{}"));
    assert_accepted(STR("\"text\""));
    assert_accepted(STR("0"));
}

Test(json, names_codings_other_than_utf_8)
{
    assert_refused(STR("\xef\xbb\xbf{}"),
                   "line 1, column 1: the text begins with a byte order mark");
    assert_refused(STR("\xff\xfe{\0}\0"), "UTF-16 or UTF-32");
    assert_refused(STR("\xfe\xff\0{\0}"), "UTF-16 or UTF-32");
    assert_refused(STR("{\0}\0"), "UTF-16 or UTF-32");
    assert_refused(STR("\0{\0}"), "UTF-16 or UTF-32");
    assert_refused(STR("\xff\xfe\0\0{\0\0\0}\0\0\0"), "UTF-16 or UTF-32");
    assert_refused(STR("\0\0\xfe\xff\0\0\0{\0\0\0}"), "UTF-16 or UTF-32");
    assert_refused(STR("{\0\0\0}\0\0\0"), "UTF-16 or UTF-32");
    assert_refused(STR("\0\0\0{\0\0\0}"), "UTF-16 or UTF-32");
    assert_refused(STR("\x1f\x8b\x08"), "compressed with gzip");
    assert_refused(STR("\0{}"), "syntax error");
    assert_refused(STR("{}\0\0"), "syntax error");
    assert_accepted(STR("\"\xef\xbb\xbf\""));
}

Test(json, refuses_invalid_json)
{
    static const char *const bad[] = {
        "{",     "{\"a\"}", "{\"a\":1,}", "[1,]",     "{'a':1}", "{a:1}",
        "[01]",  "[+1]",    "[1.]",       "[.5]",     "[1e]",    "[NaN]",
        "[tru]", "[--1]",   "nul",        "[1 2]",    "\"\\x\"", "\"\\u12\"",
        "\"a",   "\"\t\"",  "/**/1",      "[1]//end", "[0x1]",   "[Infinity]",
    };

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_refused(str_of(bad[i]), "");
    assert_refused(STR("\xEF\xBB\xBF{}"), "");
}

Test(json, refuses_nothing_at_all)
{
    assert_refused(STR(""), "unexpected end of text");
    assert_refused(STR_NONE, "unexpected end of text");
    assert_refused(STR(" \n"), "unexpected end of text");
}

Test(json, refuses_nul_wherever_it_stands)
{
    assert_refused(STR("\0{}"), "line 1, column 1: syntax error");
    assert_refused(STR("[1\0]"), "line 1, column 3: syntax error");
    assert_refused(STR("[1.5e3\0]"), "syntax error");
    assert_refused(STR("[true\0]"), "syntax error");
    assert_refused(STR("{\"a\":null\0}"), "syntax error");
    assert_refused(STR("[\"\0\"]"), "syntax error");
    assert_refused(STR("[1\0"), "syntax error");
    assert_refused(STR("{}\0"), "syntax error");
}

Test(json, refuses_anything_after_the_value)
{
    assert_refused(STR("{} {}"), "unexpected text after the value");
    assert_refused(STR("1 x"), "unexpected text after the value");
}

Test(json, refuses_duplicate_keys_at_any_level)
{
    assert_refused(STR("{\"a\":1,\"a\":1}"), "duplicate key");
    assert_refused(STR("[{\"b\":{\"a\":1,\"\\u0061\":2}}]"), "duplicate key");
}

Test(json, refuses_bytes_that_are_not_utf8)
{
    assert_refused(STR("\"\xFF\""), "not UTF-8");
    assert_refused(STR("\"\xC0\x80\""), "not UTF-8");
    assert_refused(STR("\"\xED\xA0\x80\""), "not UTF-8");
    assert_refused(STR("{\"\xC3\":1}"), "not UTF-8");
}

Test(json, refuses_lone_surrogates_and_joins_pairs)
{
    json_t *value;

    assert_refused(STR("\"\\ud800\""), "");
    assert_refused(STR("\"\\udc00\""), "");
    assert_refused(STR("\"\\ud800\\u0041\""), "");
    assert_refused(STR("\"\\ud800x\""), "");
    value = read_or_fail(STR("\"\\ud83d\\ude00\""));
    cr_assert(str_equal(json_text(value), STR("\xF0\x9F\x98\x80")));
    json_free(value);
}

Test(json, accepts_nul_in_values_but_not_in_keys)
{
    json_t *value = read_or_fail(STR("{\"a\":\"x\\u0000y\"}"));

    cr_assert(str_equal(json_member_text(value, "a"), STR("x\0y")));
    json_free(value);
    assert_refused(STR("{\"a\\u0000\":1}"), "U+0000 in a key");
    assert_refused(STR("\"\0\""), "");
}

Test(json, keeps_integers_of_64_bits_and_reads_larger_ones_as_reals)
{
    json_t *value = read_or_fail(STR("[9223372036854775807,-9223372036854775808]"));

    cr_assert_eq(json_integer_value(json_array_get(value, 0)), INT64_MAX);
    cr_assert_eq(json_integer_value(json_array_get(value, 1)), INT64_MIN);
    json_free(value);
    value = read_or_fail(STR("{\"99999999999999999999\\\"\":[9223372036854775808,5,0.5],"
                             "\"b\":-9223372036854775809}"));
    const json_t *list = json_object_get(value, "99999999999999999999\"");
    cr_assert_eq(json_real_value(json_array_get(list, 0)), 9223372036854775808.0);
    cr_assert_eq(json_integer_value(json_array_get(list, 1)), 5);
    cr_assert_eq(json_real_value(json_array_get(list, 2)), 0.5);
    cr_assert_eq(json_real_value(json_object_get(value, "b")), -9223372036854775809.0);
    json_free(value);
}

Test(json, names_the_place_after_a_large_integer)
{
    assert_refused(STR("[9223372036854775808,\n 9223372036854775808, x]"), "line 2, column 23");
}

/* Numbers are stored exactly and come back without an exponent. */
Test(json, accepts_every_number_as_it_is_written_out)
{
    char digits[512], text[900];

    assert_accepted(STR("1e308"));
    snprintf(text, sizeof(text), "1%s", repeat(digits, "0", 308));
    assert_accepted(str_of(text));
    assert_accepted(STR("1e-400"));
    snprintf(text, sizeof(text), "0.%s1", repeat(digits, "0", 399));
    assert_accepted(str_of(text));
    snprintf(text, sizeof(text), "[%se-400]", repeat(digits, "1", 396));
    assert_refused(str_of(text), "too long");
}

Test(json, refuses_numbers_that_are_not_finite_doubles)
{
    assert_accepted(STR("1e308"));
    assert_accepted(STR("1e-400"));
    assert_refused(STR("1e309"), "out of range");
    assert_refused(STR("-1e400"), "out of range");
    char digits[512];
    assert_refused(str_of(repeat(digits, "9", 309)), "out of range");
}

Test(json, bounds_the_literals_of_numbers)
{
    char digits[900], text[1000];

    snprintf(text, sizeof(text), "0.%s", repeat(digits, "1", JSON_NUMBER_MAX - 2));
    assert_accepted(str_of(text));
    snprintf(text, sizeof(text), "0.%s", repeat(digits, "1", JSON_NUMBER_MAX - 1));
    assert_refused(str_of(text), "too long");
    assert_refused(STR("[0e401]"), "too long");
    assert_refused(STR("[1E-401]"), "too long");
    assert_refused(STR("[0e99999999999999999999]"), "too long");
    assert_accepted(STR("[1e+00000000]"));
    /* Only numbers count, not digits inside a string. */
    assert_accepted(STR("[\"\\\"1e9999\",1]"));
}

Test(json, bounds_the_depth)
{
    char open[128], close[128], text[300];

    snprintf(text, sizeof(text), "%s%s", repeat(open, "[", JSON_DEPTH_MAX),
             repeat(close, "]", JSON_DEPTH_MAX));
    assert_accepted(str_of(text));
    snprintf(text, sizeof(text), "%s%s", repeat(open, "[", JSON_DEPTH_MAX + 1),
             repeat(close, "]", JSON_DEPTH_MAX + 1));
    assert_refused(str_of(text), "nested too deeply");
    snprintf(text, sizeof(text), "%s", repeat(open, "{\"\":", 20));
    snprintf(text + 80, sizeof(text) - 80, "%s", repeat(close, "[", 20));
    assert_refused(str_of(text), "nested too deeply");
    /* Brackets side by side or inside strings add no depth. */
    snprintf(text, sizeof(text), "[%s\"%s\"]", repeat(close, "[],", 40), repeat(open, "[", 40));
    assert_accepted(str_of(text));
}

Test(json, names_the_place_and_quotes_nothing)
{
    assert_refused(STR("{\"a\": 1,\n \"secret\" secret}"), "invalid JSON at line 2, column ");
    cr_assert_null(strstr(error, "secret"), "%s", error);
    assert_refused(STR("[\"\xC3\xA4\", 1e999]"), "invalid JSON at line 1, column 7: the number");
}

Test(json, names_the_character_at_fault)
{
    assert_refused(STR("{'external_id':1}"), "line 1, column 2: syntax error");
    assert_refused(STR("{\"a\": \xC3\xA4}"), "line 1, column 7: syntax error");
    assert_refused(STR("{\"a\":1,\n,}"), "line 2, column 1: syntax error");
    assert_refused(STR("[\"a\tb\"]"), "line 1, column 4: syntax error");
    assert_refused(STR("[\"a\nb\"]"), "line 1, column 4: syntax error");
    assert_refused(STR("[\"a\\x\"]"), "line 1, column 5: syntax error");
    assert_refused(STR("{} {"), "line 1, column 4: unexpected text after the value");
    assert_refused(STR("[\"a\xff\"]"), "line 1, column 4: not UTF-8");
    assert_refused(STR("[1"), "line 1, column 3: unexpected end of text");
}

Test(json, text_of_other_types_is_absent)
{
    json_t *value = read_or_fail(STR("{\"a\":1,\"b\":\"\",\"c\":null}"));

    cr_assert_null(json_text(value).p);
    cr_assert_null(json_member_text(value, "a").p);
    cr_assert_null(json_member_text(value, "c").p);
    cr_assert_null(json_member_text(value, "d").p);
    cr_assert_not_null(json_member_text(value, "b").p);
    cr_assert_null(json_text(NULL).p);
    json_free(value);
    json_free(NULL);
}

static struct arena arena;
static struct buf buf;

static void setup(void)
{
    arena_init(&arena, 1 << 20);
    buf_init(&buf, &arena, 16);
}

static void teardown(void)
{
    arena_release(&arena);
}

TestSuite(json_writing, .init = setup, .fini = teardown);

Test(json_writing, reads_back_every_byte_that_needs_an_escape)
{
    char bytes[128];
    json_t *value;

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)i;
    json_add_string(&buf, (struct str){bytes, sizeof(bytes)});
    value = read_or_fail(buf_str(&buf));
    cr_assert(str_equal(json_text(value), (struct str){bytes, sizeof(bytes)}));
    json_free(value);
}

Test(json_writing, uses_the_short_forms)
{
    json_add_string(&buf, STR("a\"\\\n\t\r\b\f\x1F\x7F/\xC3\xA4"));
    cr_assert(str_equal(buf_str(&buf), STR("\"a\\\"\\\\\\n\\t\\r\\b\\f\\u001f\x7F/\xC3\xA4\"")));
}

Test(json_writing, distinguishes_empty_from_absent)
{
    json_add_string(&buf, STR(""));
    json_add_string(&buf, STR_NONE);
    cr_assert(str_equal(buf_str(&buf), STR("\"\"null")));
}

Test(json_writing, leaves_out_blanks_between_tokens_and_no_others)
{
    static const char *const texts[][2] = {
        {"{\"a b\": \"c, d\", \"e\": 1.50, \"f\": true}",
         "{\"a b\":\"c, d\",\"e\":1.50,\"f\":true}"},
        {"{\"a\\\"\": \" \\\\\", \"b\": \"\\\" \"}", "{\"a\\\"\":\" \\\\\",\"b\":\"\\\" \"}"},
        {"{}", "{}"},
        {"", ""},
        {NULL, "null"},
        {"\"cut off \\", "\"cut off \\"},
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        buf.n = 0;
        json_add_compact(&buf, str_of(texts[i][0]));
        cr_expect(str_equal(buf_str(&buf), str_of(texts[i][1])), "%.*s", STR_ARG(buf_str(&buf)));
    }
}

Test(json_writing, puts_commas_between_members)
{
    buf_char(&buf, '{');
    json_add_key(&buf, "a");
    buf_char(&buf, '{');
    json_add_key(&buf, "b\"");
    json_add_string(&buf, STR("{"));
    json_add_key(&buf, "c");
    buf_add(&buf, STR("1}}"));
    cr_assert(str_equal(buf_str(&buf), STR("{\"a\":{\"b\\\"\":\"{\",\"c\":1}}")), "%.*s",
              STR_ARG(buf_str(&buf)));
}

Test(json_writing, writes_members_of_three_kinds)
{
    buf_char(&buf, '{');
    json_add_text(&buf, "a", STR("x"));
    json_add_integer(&buf, "b", INT64_MIN);
    json_add_bool(&buf, "c", true);
    json_add_bool(&buf, "d", false);
    buf_char(&buf, '}');
    cr_assert(str_equal(buf_str(&buf),
                        STR("{\"a\":\"x\",\"b\":-9223372036854775808,\"c\":true,\"d\":false}")));
}
