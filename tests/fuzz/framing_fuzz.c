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

/* One or more calls of the decoder. */
struct decoding {
    enum framing_fault fault;
    ssize_t rest; /* -2: the body is incomplete */
    char *bytes;
    size_t n;
};

static struct decoding decode(const char *p, size_t n)
{
    struct phr_chunked_decoder decoder = {.consume_trailer = 1};
    struct decoding made = {.bytes = malloc(n + 1), .n = n};

    must(made.bytes != NULL);
    memcpy(made.bytes, p, n);
    made.rest = phr_decode_chunked(&decoder, made.bytes, &made.n);
    made.fault = framing_take();
    must(made.rest >= -2 && made.rest != -1 && made.n <= n && made.n <= FRAMING_BODY_MAX);
    return made;
}

/* In two parts. The second one is not decoded if the body ends, or is found faulty, in the first;
   h2o then takes all of it for the next request. */
static struct decoding decode_in_two(const char *p, size_t n, size_t cut)
{
    struct phr_chunked_decoder decoder = {.consume_trailer = 1};
    struct decoding made = {.bytes = malloc(n + 1), .n = cut};
    size_t second_n = n - cut;

    must(made.bytes != NULL);
    memcpy(made.bytes, p, cut);
    made.rest = phr_decode_chunked(&decoder, made.bytes, &made.n);
    made.fault = framing_take();
    if (made.rest >= 0) {
        made.rest += made.fault == FRAMING_SOUND ? (ssize_t)second_n : 0;
        return made;
    }
    must(made.rest == -2 && made.fault == FRAMING_SOUND);
    memcpy(made.bytes + made.n, p + cut, second_n);
    made.rest = phr_decode_chunked(&decoder, made.bytes + made.n, &second_n);
    made.fault = framing_take();
    made.n += second_n;
    return made;
}

/* Decoding has the same result wherever the body is split. After a fault, the bytes decoded before
   it do not matter. */
static void check_body(const char *p, size_t n, size_t cut)
{
    struct decoding whole = decode(p, n), in_two = decode_in_two(p, n, cut);

    must(in_two.fault == whole.fault && in_two.rest == whole.rest);
    if (whole.fault == FRAMING_SOUND)
        must(in_two.n == whole.n && memcmp(in_two.bytes, whole.bytes, whole.n) == 0);
    free(whole.bytes);
    free(in_two.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *p = (const char *)data;

    check_head(p, n);
    if (n > 0)
        check_body(p + 1, n - 1, data[0] % n);
    return 0;
}
