#include "common/base/utf8.h"

#include <criterion/criterion.h>

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

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        cr_assert_eq(utf8_decode(str_of(bad[i]), &code), 0, "case %zu", i);
    cr_assert_eq(utf8_decode(STR(""), &code), 0);
    cr_assert_eq(code, 7);
}
