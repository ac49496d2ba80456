#include "common/http/chunked.h"

#include <criterion/criterion.h>
#include <string.h>

#include "common/base/str.h"

#define MAX 16

/* Decodes `text`, `step` bytes at a time as from a socket; *body is NUL-terminated. */
static ssize_t decode(const char *text, size_t step, char body[256])
{
    struct phr_chunked_decoder decoder = {.consume_trailer = 1};
    size_t length = strlen(text), at = 0, decoded = 0;
    ssize_t rest = CHUNKED_INCOMPLETE;

    while (at < length && rest == CHUNKED_INCOMPLETE) {
        size_t n = length - at < step ? length - at : step;

        memcpy(body + decoded, text + at, n);
        at += n;
        rest = chunked_decode(&decoder, body + decoded, &n, MAX);
        if (rest == CHUNKED_MALFORMED || rest == CHUNKED_TOO_LARGE)
            return rest;
        decoded += n;
    }
    body[decoded] = '\0';
    return rest;
}

static void expect(const char *text, ssize_t rest, const char *wanted)
{
    char body[256];

    cr_expect_eq(decode(text, 256, body), rest, "%s", text);
    if (wanted != NULL)
        cr_expect_str_eq(body, wanted);
    /* Byte by byte, nothing is left after the body. */
    cr_expect_eq(decode(text, 1, body), rest > 0 ? 0 : rest, "%s in bytes", text);
    if (wanted != NULL)
        cr_expect_str_eq(body, wanted);
}

Test(chunked, joins_the_chunks)
{
    expect("0\r\n\r\n", 0, "");
    expect("3\r\nabc\r\n0\r\n\r\n", 0, "abc");
    expect("3\r\nabc\r\n00000002\r\nde\r\n0\r\n\r\n", 0, "abcde");
    expect("a\r\n0123456789\r\n0\r\n\r\n", 0, "0123456789");
    expect("3\r\nabc\r\n0\r\n\r\nGET", 3, "abc");
}

Test(chunked, passes_over_extensions_and_trailers)
{
    expect("3;a=\"b\"\r\nabc\r\n0;x\r\n\r\n", 0, "abc");
    expect("3\r\nabc\r\n0\r\nA: b\r\nC: d\r\n\r\n", 0, "abc");
}

Test(chunked, waits_for_the_end)
{
    expect("3\r\nab", CHUNKED_INCOMPLETE, "ab");
    expect("3\r\nabc\r\n0\r\n", CHUNKED_INCOMPLETE, "abc");
}

Test(chunked, refuses_what_is_not_exactly_the_grammar)
{
    static const char *const bad[] = {
        "0x3\r\nabc\r\n0\r\n\r\n",
        "+3\r\nabc\r\n0\r\n\r\n",
        "-3\r\nabc\r\n0\r\n\r\n",
        " 3\r\nabc\r\n0\r\n\r\n",
        "3 \r\nabc\r\n0\r\n\r\n",
        "\r\n",
        "3\nabc\r\n0\r\n\r\n",
        "3\r\nabc\n0\r\n\r\n",
        "3\r\nabcd\r\n0\r\n\r\n",
        "3\r\nabc0\r\n\r\n",
        "000000003\r\nabc\r\n",
        "g\r\n",
        ";a\r\n",
        "3;a\nabc\r\n0\r\n\r\n",
        "3;\001\r\nabc\r\n",
        "3\r\nabc\r\n0\r\nA\n\r\n",
        "3\r\nabc\r\n0\r\n A: b\r\n\r\n",
        "3\r\nabc\r\n0\r\nA\r\n\r\n",
        "3\r\nabc\r\n0\r\n: b\r\n\r\n",
        "3\r\nabc\r\n0\r\nA : b\r\n\r\n",
        "0\r\n\rx",
    };

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        expect(bad[i], CHUNKED_MALFORMED, NULL);
}

Test(chunked, refuses_a_body_as_soon_as_it_would_be_too_large)
{
    expect("10\r\n0123456789abcdef\r\n0\r\n\r\n", 0, "0123456789abcdef");
    expect("11\r\n", CHUNKED_TOO_LARGE, NULL);
    expect("ffffffff\r\n", CHUNKED_TOO_LARGE, NULL);
    expect("10\r\n0123456789abcdef\r\n1\r\n", CHUNKED_TOO_LARGE, NULL);
}

Test(chunked, refuses_an_endless_extension)
{
    char text[200] = "1;";

    memset(text + 2, 'a', 150);
    expect(text, CHUNKED_MALFORMED, NULL);
}
