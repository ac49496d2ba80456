/* No input makes the parsers report an error to h2o, and their results are inside the input. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/http/framing.h"

#define HEADERS_MAX 100

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_inside(const char *whole, size_t n, const char *part, size_t part_n)
{
    must(part >= whole && part_n <= n && (size_t)(part - whole) <= n - part_n);
}

static void check_head(const char *p, size_t n)
{
    struct phr_header headers[HEADERS_MAX];
    size_t n_headers = HEADERS_MAX, method_n, target_n;
    const char *method, *target;
    int minor_version;
    int used = phr_parse_request(p, n, &method, &method_n, &target, &target_n, &minor_version,
                                 headers, &n_headers, 0);
    enum framing_fault fault = framing_take();

    if (used == -2) {
        must(fault == FRAMING_SOUND && n <= FRAMING_HEADER_MAX);
        return;
    }
    must(used >= 0 && (size_t)used <= n && n_headers <= HEADERS_MAX);
    must(target_n > 0 && target[0] == '/');
    if (fault != FRAMING_SOUND && fault != FRAMING_BODY_TOO_LARGE) {
        must(n_headers == 0 && (size_t)used == n);
        return;
    }
    for (size_t i = 0; i < n_headers; i++) {
        check_inside(p, n, headers[i].name, headers[i].name_len);
        check_inside(p, n, headers[i].value, headers[i].value_len);
    }
}

/* Decoding has the same result wherever the body is split. */
static void check_body(const char *p, size_t n, size_t cut)
{
    struct phr_chunked_decoder at_once = {.consume_trailer = 1}, in_two = {.consume_trailer = 1};
    char *whole = malloc(n + 1), *parts = malloc(n + 1);
    size_t whole_n = n, first_n = cut, second_n;
    ssize_t rest, rest_in_two;
    enum framing_fault fault;

    must(whole != NULL && parts != NULL);
    memcpy(whole, p, n);
    memcpy(parts, p, cut);
    rest = phr_decode_chunked(&at_once, whole, &whole_n);
    fault = framing_take();
    must(rest >= -2 && rest != -1 && whole_n <= n && whole_n <= FRAMING_BODY_MAX);

    rest_in_two = phr_decode_chunked(&in_two, parts, &first_n);
    if (rest_in_two == -2) {
        second_n = n - cut;
        memcpy(parts + first_n, p + cut, second_n);
        rest_in_two = phr_decode_chunked(&in_two, parts + first_n, &second_n);
        must(framing_take() == fault && rest_in_two == rest);
        if (fault == FRAMING_SOUND)
            must(first_n + second_n == whole_n && memcmp(whole, parts, whole_n) == 0);
    }
    (void)framing_take();
    free(whole);
    free(parts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *p = (const char *)data;

    check_head(p, n);
    if (n > 0)
        check_body(p + 1, n - 1, data[0] % n);
    return 0;
}
