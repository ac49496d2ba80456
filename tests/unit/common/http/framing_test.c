#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/base/str.h"
#include "common/http/framing.h"

#define GET  "GET /api/v1/ping HTTP/1.1\r\n"
#define POST "POST /x HTTP/1.1\r\n"
#define HOST "Host: h\r\n"

struct parsed {
    int used;
    const char *method, *target;
    size_t method_n, target_n, n;
    int minor_version;
    struct phr_header headers[100];
};

static struct parsed parse_bytes(const char *p, size_t n)
{
    struct parsed parsed = {.n = 100};

    parsed.used =
        phr_parse_request(p, n, &parsed.method, &parsed.method_n, &parsed.target, &parsed.target_n,
                          &parsed.minor_version, parsed.headers, &parsed.n, 0);
    return parsed;
}

static enum framing_fault fault_of(const char *text)
{
    struct parsed parsed = parse_bytes(text, strlen(text));
    enum framing_fault fault = framing_take();

    cr_expect_geq(parsed.used, -2);
    cr_expect_neq(parsed.used, -1, "%s", text);
    if (fault != FRAMING_SOUND && fault != FRAMING_BODY_TOO_LARGE) {
        cr_expect_eq(parsed.used, (int)strlen(text), "consumes everything: %s", text);
        cr_expect_eq(parsed.n, 0);
        cr_expect_eq(strncmp(parsed.target, "/", parsed.target_n), 0);
    }
    return fault;
}

struct sample {
    const char *text;
    enum framing_fault fault;
};

static void expect_all(const struct sample *samples, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        enum framing_fault fault = fault_of(samples[i].text);
        cr_expect_eq(fault, samples[i].fault, "%s: %s", samples[i].text, framing_message(fault));
    }
}
#define EXPECT_ALL(samples) expect_all((samples), ARRAY_SIZE(samples))

Test(framing, accepts_sound_requests)
{
    static const struct sample samples[] = {
        {GET HOST "\r\n", FRAMING_SOUND},
        {"\r\n" GET HOST "\r\n", FRAMING_SOUND},
        {"GET / HTTP/1.0\r\n\r\n", FRAMING_SOUND},
        {POST HOST "Content-Length: 2\r\n\r\n{}", FRAMING_SOUND},
        {POST HOST "Content-Length: 2 \t\r\n\r\n{}", FRAMING_SOUND},
        {POST HOST "Content-Length: 65536\r\n\r\n", FRAMING_SOUND},
        {POST HOST "Transfer-Encoding: chunked\r\n\r\n", FRAMING_SOUND},
        {POST HOST "transfer-encoding:  CHUNKED \r\n\r\n", FRAMING_SOUND},
        {POST HOST "Expect: 100-Continue\r\nContent-Length: 2\r\n\r\n", FRAMING_SOUND},
        {GET "Host: [::1]:8080\r\n\r\n", FRAMING_SOUND},
    };
    EXPECT_ALL(samples);
}

Test(framing, refuses_an_ambiguous_length_of_a_body)
{
    static const struct sample samples[] = {
        {POST HOST "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
         FRAMING_LENGTH_AND_CODING},
        {POST HOST "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n",
         FRAMING_LENGTH_AND_CODING},
        {POST HOST "Content-Length: 2\r\nContent-Length: 3\r\n\r\n", FRAMING_LENGTH},
        {POST HOST "Content-Length: 2\r\nContent-Length: 2\r\n\r\n", FRAMING_LENGTH},
        {POST HOST "Content-Length: 2, 2\r\n\r\n", FRAMING_LENGTH},
        {POST HOST "Content-Length: +2\r\n\r\n", FRAMING_LENGTH},
        {POST HOST "Content-Length: 0x2\r\n\r\n", FRAMING_LENGTH},
        {POST HOST "Content-Length: \r\n\r\n", FRAMING_LENGTH},
        {POST HOST "Content-Length: 18446744073709551616\r\n\r\n", FRAMING_LENGTH},
        {POST HOST "Transfer-Encoding: gzip, chunked\r\n\r\n", FRAMING_CODING},
        {POST HOST "Transfer-Encoding: identity\r\n\r\n", FRAMING_CODING},
        {POST HOST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
         FRAMING_CODING},
        {"POST /x HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", FRAMING_CODING},
    };
    EXPECT_ALL(samples);
}

Test(framing, refuses_lines_that_two_parsers_may_read_differently)
{
    static const struct sample samples[] = {
        {"GET / HTTP/1.1\n" HOST "\r\n", FRAMING_BARE_LINE_FEED},
        {GET "Host: h\n\r\n", FRAMING_BARE_LINE_FEED},
        {GET HOST "\n", FRAMING_BARE_LINE_FEED},
        {GET HOST "X: a\r\n b\r\n\r\n", FRAMING_FOLDED_HEADER},
        {GET HOST "X: a\r\n\tb\r\n\r\n", FRAMING_FOLDED_HEADER},
        {GET " X: a\r\n" HOST "\r\n", FRAMING_MALFORMED},
        {GET HOST "X : a\r\n\r\n", FRAMING_MALFORMED},
        {GET HOST ": a\r\n\r\n", FRAMING_MALFORMED},
        {GET HOST "X: a\rb\r\n\r\n", FRAMING_MALFORMED},
        {GET HOST "X: a\001b\r\n\r\n", FRAMING_MALFORMED},
    };
    EXPECT_ALL(samples);
}

Test(framing, refuses_invalid_targets_and_methods)
{
    static const struct sample samples[] = {
        {"GET ftp://h/ HTTP/1.1\r\n" HOST "\r\n", FRAMING_TARGET},
        {"GET http:/h/ HTTP/1.1\r\n" HOST "\r\n", FRAMING_TARGET},
        {"GET http:// HTTP/1.1\r\n" HOST "\r\n", FRAMING_TARGET},
        {"GET http:///x HTTP/1.1\r\n" HOST "\r\n", FRAMING_TARGET},
        {"GET http://a@h/ HTTP/1.1\r\n" HOST "\r\n", FRAMING_TARGET},
        {"GET http://h:x/ HTTP/1.1\r\n" HOST "\r\n", FRAMING_TARGET},
        {"GET http://h/\xc3\xa9 HTTP/1.1\r\n" HOST "\r\n", FRAMING_TARGET},
        {"GET http://h/ HTTP/1.1\r\n\r\n", FRAMING_HOST},
        {"GET http://h/ HTTP/1.1\r\nHost: a/b\r\n\r\n", FRAMING_HOST},
        {"OPTIONS * HTTP/1.1\r\n" HOST "\r\n", FRAMING_TARGET},
        {"CONNECT h:80 HTTP/1.1\r\n" HOST "\r\n", FRAMING_TARGET},
        {"GET /\xc3\xa9 HTTP/1.1\r\n" HOST "\r\n", FRAMING_TARGET},
        {"G@T / HTTP/1.1\r\n" HOST "\r\n", FRAMING_METHOD},
        {"GET  / HTTP/1.1\r\n" HOST "\r\n", FRAMING_MALFORMED},
        {"GET /\r\n\r\n", FRAMING_MALFORMED},
        {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", FRAMING_MALFORMED},
        {"nonsense\r\n\r\n", FRAMING_MALFORMED},
    };
    EXPECT_ALL(samples);
}

Test(framing, reduces_an_absolute_target_to_its_path_and_its_host)
{
    static const struct {
        const char *target, *path, *host;
    } samples[] = {
        {"http://a/x?y=1", "/x?y=1", "a"},
        {"HTTPS://a:80/", "/", "a:80"},
        {"http://[::1]:80/x", "/x", "[::1]:80"},
        {"http://a", "/", "a"},
        {"http://a?x", "/", "a"},
        {"/http://b/", "/http://b/", "h"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
        char text[128];
        struct parsed parsed;

        snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\n" HOST "\r\n", samples[i].target);
        parsed = parse_bytes(text, strlen(text));
        cr_expect_eq(framing_take(), FRAMING_SOUND);
        cr_expect(str_equal((struct str){parsed.target, parsed.target_n}, str_of(samples[i].path)),
                  "%s", samples[i].target);
        cr_assert_eq(parsed.n, 1);
        cr_expect(str_equal((struct str){parsed.headers[0].value, parsed.headers[0].value_len},
                            str_of(samples[i].host)),
                  "%s", samples[i].target);
    }
}

Test(framing, wants_exactly_one_host)
{
    static const struct sample samples[] = {
        {GET "\r\n", FRAMING_HOST},
        {GET HOST HOST "\r\n", FRAMING_HOST},
        {GET "Host: \r\n\r\n", FRAMING_HOST},
        {GET "Host: a/b\r\n\r\n", FRAMING_HOST},
        {GET "Host: a@b\r\n\r\n", FRAMING_HOST},
        {GET "Host: a:b\r\n\r\n", FRAMING_HOST},
        {GET "Host: a:1:2\r\n\r\n", FRAMING_HOST},
        {GET "Host: :1\r\n\r\n", FRAMING_HOST},
        {GET "Host: a%4\r\n\r\n", FRAMING_HOST},
        {GET "Host: ::1\r\n\r\n", FRAMING_HOST},
        {GET "Host: [::1\r\n\r\n", FRAMING_HOST},
        {GET "Host: [::1]a\r\n\r\n", FRAMING_HOST},
        {GET "Host: [a]\r\n\r\n", FRAMING_HOST},
        {GET "Host: a%41.b:\r\n\r\n", FRAMING_SOUND},
        {GET "Host: [::ffff:192.0.2.1]:1\r\n\r\n", FRAMING_SOUND},
        {"GET / HTTP/1.0\r\n" HOST HOST "\r\n", FRAMING_HOST},
    };
    EXPECT_ALL(samples);
}

Test(framing, refuses_other_expectations)
{
    cr_expect_eq(fault_of(POST HOST "Expect: miracles\r\n\r\n"), FRAMING_EXPECTATION);
    cr_expect_eq(framing_status(FRAMING_EXPECTATION), 417);
}

Test(framing, hides_the_expect_headers_of_http_1_0)
{
    static const char text[] = "POST / HTTP/1.0\r\nExpect: 100-continue\r\n" HOST
                               "expect: miracles\r\nContent-Length: 2\r\n\r\n{}";
    struct parsed parsed = parse_bytes(text, strlen(text));

    cr_expect_eq(framing_take(), FRAMING_SOUND);
    cr_assert_eq(parsed.n, 2);
    cr_expect_eq(strncmp(parsed.headers[0].name, "Host", 4), 0);
    cr_expect_eq(strncmp(parsed.headers[1].name, "Content-Length", 14), 0);
}

Test(framing, waits_for_the_rest_of_a_request_but_not_for_ever)
{
    static char text[FRAMING_HEADER_MAX + 2] = GET HOST "X: ";
    size_t n = strlen(text);

    cr_expect_eq(parse_bytes(text, n).used, -2);
    cr_expect_eq(framing_take(), FRAMING_SOUND);
    memset(text + n, 'a', sizeof(text) - 1 - n);
    cr_expect_eq(parse_bytes(text, FRAMING_HEADER_MAX).used, -2);
    cr_expect_eq(parse_bytes(text, FRAMING_HEADER_MAX + 1).used, FRAMING_HEADER_MAX + 1);
    cr_expect_eq(framing_take(), FRAMING_HEADERS_TOO_LARGE);
}

Test(framing, takes_the_body_off_a_request_that_announces_too_large_a_one)
{
    static const char text[] = POST HOST "Content-Length: 65537\r\nAuthorization: Bearer x\r\n\r\n";
    struct parsed parsed = parse_bytes(text, strlen(text));

    cr_expect_eq(framing_take(), FRAMING_BODY_TOO_LARGE);
    cr_expect_eq(parsed.n, 2);
    cr_expect_eq(strncmp(parsed.headers[1].name, "Authorization", 13), 0);
    cr_expect_eq(strncmp(parsed.method, "POST", parsed.method_n), 0);
}

/* h2o cannot read a length of twenty digits, and answers it with a response of its own. */
Test(framing, hands_over_a_length_without_zeros_in_front)
{
    static const char text[] = POST HOST "Content-Length: 0000000000000000000000012\r\n\r\n";
    struct parsed parsed = parse_bytes(text, strlen(text));

    cr_expect_eq(framing_take(), FRAMING_SOUND);
    cr_expect_eq(parsed.headers[1].value_len, 2);
    cr_expect_eq(strncmp(parsed.headers[1].value, "12", 2), 0);
    parsed = parse_bytes(POST HOST "Content-Length: 00\r\n\r\n",
                         strlen(POST HOST "Content-Length: 00\r\n\r\n"));
    cr_expect_eq(parsed.headers[1].value_len, 1);
}

Test(framing, keeps_blanks_after_a_value_that_does_not_affect_framing)
{
    static const char text[] = GET HOST "Authorization: Bearer x \r\n\r\n";
    struct parsed parsed = parse_bytes(text, strlen(text));

    cr_expect_eq(parsed.headers[1].value_len, strlen("Bearer x "));
}

Test(framing, reports_a_fault_once)
{
    (void)parse_bytes("x\r\n\r\n", 5);
    cr_expect_eq(framing_take(), FRAMING_MALFORMED);
    cr_expect_eq(framing_take(), FRAMING_SOUND);
}

Test(framing, hands_over_a_faulty_chunked_body_as_an_empty_one)
{
    struct phr_chunked_decoder decoder = {.consume_trailer = 1};
    char text[] = "2\r\n{}\r\n0x3\r\nabc\r\n0\r\n\r\n";
    size_t n = strlen(text);

    cr_expect_eq(phr_decode_chunked(&decoder, text, &n), 0);
    cr_expect_eq(n, 0);
    cr_expect_eq(framing_take(), FRAMING_CHUNK);
}
