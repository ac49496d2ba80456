#include "services/webhook/attempts.h"

#include <criterion/criterion.h>

Test(attempts, keeps_an_answer_as_text_that_does_nothing)
{
    static const struct {
        struct str bytes, text;
    } cases[] = {
        {STR("plain\ttext\n"), STR("plain\ttext\n")},
        {STR("\x1b[31mred\x07"), STR(".[31mred.")},
        {STR("a\0b"), STR("a.b")},
        {STR("caf\xc3\xa9"), STR("caf\xc3\xa9")},
        {STR("caf\xc3"), STR("caf.")},
        {STR("\xff\xfe"), STR("..")},
        {STR("\xed\xa0\x80"), STR("...")},
        {STR("x\xe2\x80\xaey"), STR("x.y")},
        {STR("\xc2\x9b"), STR(".")},
        {STR("\r\n"), STR(".\n")},
    };
    struct arena arena;

    arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        cr_expect(str_equal(attempt_inert(&arena, cases[i].bytes), cases[i].text), "case %zu", i);
    arena_release(&arena);
}
