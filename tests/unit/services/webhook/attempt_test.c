#include "services/webhook/attempt.h"

#include <criterion/criterion.h>
#include <string.h>

static struct arena arena;

static void open_arena(void)
{
    arena_init(&arena, 1 << 20);
}

static void close_arena(void)
{
    arena_release(&arena);
}

TestSuite(attempt, .init = open_arena, .fini = close_arena);

Test(attempt, keeps_an_answer_as_text_that_does_nothing)
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

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        cr_expect(str_equal(attempt_inert(&arena, cases[i].bytes), cases[i].text), "case %zu", i);
}

/* The test vector of docs/webhooks.md, which receivers test against: it must not change. */
Test(attempt, payload_signs_as_the_published_vector_says)
{
    const struct str secret =
        STR("whsec_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
    const struct str body = payload_write(
        &arena, STR("01930b6e8c5f7a3e9d2c4b1a0f6e5d4c"), STR("conversation.created"), 1731000000,
        STR("{\"id\": \"01930b6e-8c5e-7b7a-8f00-3c2d1e0f9a8b\", \"status\": "
            "\"active\", \"channel\": \"api\"}"));
    char signature[ATTEMPT_SIGNATURE + 1];

    cr_assert(str_equal(
        body, STR("{\"id\":\"evt_01930b6e8c5f7a3e9d2c4b1a0f6e5d4c\",\"type\":\"conversation."
                  "created\",\"created_at\":1731000000,\"data\":{\"id\": "
                  "\"01930b6e-8c5e-7b7a-8f00-3c2d1e0f9a8b\", \"status\": \"active\", \"channel\": "
                  "\"api\"}}")));
    payload_sign(&arena, secret, 1731000001, body, signature);
    cr_assert_str_eq(signature,
                     "v1=3936cb91127eb8e8afa06289dcb45e1d6d2864868b3faa3cbee738a4eaa7c7ec");
}

Test(attempt, payload_signs_every_byte_and_the_time)
{
    char one[ATTEMPT_SIGNATURE + 1], other[ATTEMPT_SIGNATURE + 1];

    payload_sign(&arena, STR("whsec_a"), 1, STR("{}"), one);
    payload_sign(&arena, STR("whsec_a"), 1, STR("{ }"), other);
    cr_assert_str_neq(one, other);
    payload_sign(&arena, STR("whsec_a"), 2, STR("{}"), other);
    cr_assert_str_neq(one, other);
    payload_sign(&arena, STR("whsec_b"), 1, STR("{}"), other);
    cr_assert_str_neq(one, other);
    payload_sign(&arena, STR("whsec_a"), 1, STR("{}"), other);
    cr_assert_str_eq(one, other);
}
