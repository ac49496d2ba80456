#include "common/base/ascii.h"

#include <criterion/criterion.h>
#include <locale.h>
#include <string.h>

/* All bytes in the class `is_in`, in order. */
static const char *members_of(bool (*is_in)(char))
{
    static char members[257];
    size_t n = 0;

    for (int byte = 0; byte < 256; byte++)
        if (is_in((char)byte))
            members[n++] = (char)byte;
    members[n] = '\0';
    return members;
}

Test(ascii, has_ten_digits_and_two_times_26_letters)
{
    setlocale(LC_ALL, "C.UTF-8");
    cr_assert_str_eq(members_of(ascii_is_digit), "0123456789");
    cr_assert_str_eq(members_of(ascii_is_letter),
                     "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
    cr_assert_str_eq(members_of(ascii_is_lower), "abcdefghijklmnopqrstuvwxyz");
    cr_assert_str_eq(members_of(ascii_is_alphanumeric),
                     "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
    cr_assert_str_eq(
        members_of(ascii_is_token),
        "!#$%&'*+-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ^_`abcdefghijklmnopqrstuvwxyz|~");
}

Test(ascii, has_another_case_for_letters_only)
{
    static const char capitals[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    static const char small[] = "abcdefghijklmnopqrstuvwxyz";

    for (size_t i = 0; i < sizeof(small) - 1; i++) {
        cr_assert_eq(ascii_lower(capitals[i]), small[i]);
        cr_assert_eq(ascii_lower(small[i]), small[i]);
        cr_assert_eq(ascii_upper(small[i]), capitals[i]);
        cr_assert_eq(ascii_upper(capitals[i]), capitals[i]);
    }
    for (int byte = 0; byte < 256; byte++) {
        if (ascii_is_letter((char)byte))
            continue;
        cr_assert_eq(ascii_lower((char)byte), (char)byte);
        cr_assert_eq(ascii_upper((char)byte), (char)byte);
    }
}

Test(ascii, knows_the_value_of_a_hexadecimal_digit_in_both_cases)
{
    static const char lower[] = "0123456789abcdef", upper[] = "0123456789ABCDEF";
    int n = 0;

    for (int value = 0; value < 16; value++) {
        cr_assert_eq(hex_value(lower[value]), value);
        cr_assert_eq(hex_value(upper[value]), value);
        cr_assert_eq(hex_digit((unsigned)value), lower[value]);
    }
    for (int byte = 0; byte < 256; byte++)
        n += hex_value((char)byte) >= 0;
    cr_assert_eq(n, 22);
}

Test(ascii, writes_bytes_in_hexadecimal_and_reads_them_back)
{
    uint8_t bytes[256], read[256];
    char text[2 * sizeof(bytes) + 1];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)i;
    hex_write(bytes, sizeof(bytes), text);
    cr_assert_eq(strlen(text), 2 * sizeof(bytes));
    cr_assert_eq(strncmp(text, "000102", 6), 0);
    cr_assert_str_eq(text + 2 * sizeof(bytes) - 6, "fdfeff");
    cr_assert(hex_read(str_of(text), read, sizeof(read)));
    cr_assert_eq(memcmp(bytes, read, sizeof(bytes)), 0);
}

Test(ascii, writes_and_reads_no_bytes_at_all)
{
    char text[1] = {'x'};
    uint8_t read;

    hex_write("", 0, text);
    cr_assert_str_eq(text, "");
    cr_assert(hex_read(STR(""), &read, 0));
    cr_assert(hex_read(STR_NONE, &read, 0));
}

Test(ascii, reads_exactly_as_many_lower_case_digits_as_it_is_asked_for)
{
    static const char *const bad[] = {"",     "a",    "abc",  "abcde", "abcdef",
                                      "ABCD", "abcg", "ab d", "0xab"};
    uint8_t read[2] = {7, 7};

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        cr_assert_not(hex_read(str_of(bad[i]), read, sizeof(read)), "%s", bad[i]);
    cr_assert_not(hex_read(STR("ab\0d"), read, sizeof(read)));
    cr_assert(read[0] == 7 && read[1] == 7, "untouched");
    cr_assert(hex_read(STR("abcd"), read, sizeof(read)));
    cr_assert(read[0] == 0xab && read[1] == 0xcd);
}

Test(ascii, compares_without_regard_to_the_case_of_letters_only)
{
    cr_assert(str_equal_nocase(STR("BEARER"), STR("bearer")));
    cr_assert_not(str_equal_nocase(STR("@"), STR("`")));
    cr_assert_not(str_equal_nocase(STR("\xC3\x84"), STR("\xC3\xA4")));
}
