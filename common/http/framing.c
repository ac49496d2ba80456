#include "common/http/framing.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/base/ascii.h"
#include "common/base/log.h"
#include "common/base/str.h"

/* -- faults ------------------------------------------------------------------------------------ */

static _Thread_local enum framing_fault latest;

static const struct {
    int status;
    const char *message;
} faults[FRAMING_FAULT_COUNT] = {
#define FRAMING_FAULT(symbol, status, message) {status, message},
#include "common/http/framing.def"
#undef FRAMING_FAULT
};

int framing_status(enum framing_fault fault)
{
    return faults[fault].status;
}

const char *framing_message(enum framing_fault fault)
{
    return faults[fault].message;
}

enum framing_fault framing_take(void)
{
    enum framing_fault fault = latest;

    latest = FRAMING_SOUND;
    return fault;
}

/* -- the parsers of the library ---------------------------------------------------------------- */

typedef int (*parse_fn)(const char *, size_t, const char **, size_t *, const char **, size_t *,
                        int *, struct phr_header *, size_t *, size_t);

/* The parser of the library, which follows ours in symbol lookup. */
static parse_fn next_parser;

/* Keeps the library linked into a program that uses nothing else of it. */
static int (*const keeps_library)(const char *, size_t, struct phr_header *, size_t *, size_t)
    __attribute__((used)) = phr_parse_headers;

static void find_next_parser(void)
{
    *(void **)&next_parser = dlsym(RTLD_NEXT, "phr_parse_request");
    must(next_parser != NULL);
}

/* -- checks ------------------------------------------------------------------------------------ */

static bool is_method(struct str method)
{
    for (size_t i = 0; i < method.n; i++)
        if (!ascii_is_token(method.p[i]))
            return false;
    return method.n > 0;
}

/* Visible ASCII. */
static bool is_visible(struct str target)
{
    for (size_t i = 0; i < target.n; i++)
        if (target.p[i] <= ' ' || target.p[i] >= 0x7f)
            return false;
    return true;
}

/* A character of a name. Commas are valid, too, but one is more likely to separate two hosts. */
static bool is_name_char(char c)
{
    return ascii_is_alphanumeric(c) || (c != '\0' && strchr("-._~!$&'()*+;=", c) != NULL);
}

/* The length of the name or IPv4 address at the front of `host`. */
static size_t name_length(struct str host)
{
    size_t i = 0;

    while (i < host.n) {
        if (host.p[i] == '%' && host.n - i > 2 && hex_value(host.p[i + 1]) >= 0 &&
            hex_value(host.p[i + 2]) >= 0)
            i += 3;
        else if (is_name_char(host.p[i]))
            i++;
        else
            break;
    }
    return i;
}

/* The length of the bracketed address at the front of `host`, checked by its characters only; 0:
   there is none. */
static size_t literal_length(struct str host)
{
    bool has_colon = false;
    size_t i = 1;

    for (; i < host.n && (hex_value(host.p[i]) >= 0 || host.p[i] == '.' || host.p[i] == ':'); i++)
        has_colon |= host.p[i] == ':';
    return has_colon && i < host.n && host.p[i] == ']' ? i + 1 : 0;
}

/* A name, address or bracketed address, with or without a port (RFC 9110, 7.2). */
static bool is_host(struct str host)
{
    const size_t n = host.n > 0 && host.p[0] == '[' ? literal_length(host) : name_length(host);

    if (n == 0)
        return false;
    for (size_t i = n + 1; i < host.n; i++)
        if (!ascii_is_digit(host.p[i]))
            return false;
    return n == host.n || host.p[n] == ':';
}

/* Reduces the absolute form (http://host/path) to the path and the host, as RFC 9112, 3.2.2 demands
   of every server; with the origin form the host is STR_NONE. Without a path it is that of the root,
   where no query is read. False: it is neither form. */
static bool split_target(struct str *target, struct str *host)
{
    struct str rest = *target;
    size_t n = 0;

    *host = STR_NONE;
    if (!is_visible(rest))
        return false;
    if (rest.n > 0 && rest.p[0] == '/')
        return true;
    if (rest.n > 7 && str_equal_nocase((struct str){rest.p, 7}, STR("http://")))
        rest = str_skip(rest, 7);
    else if (rest.n > 8 && str_equal_nocase((struct str){rest.p, 8}, STR("https://")))
        rest = str_skip(rest, 8);
    else
        return false;
    while (n < rest.n && rest.p[n] != '/' && rest.p[n] != '?')
        n++;
    *host = (struct str){rest.p, n};
    *target = n < rest.n && rest.p[n] == '/' ? str_skip(rest, n) : STR("/");
    return is_host(*host);
}

static bool has_bare_line_feed(const char *p, size_t n)
{
    const char *at = p, *end = p + n;

    while ((at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        if (at == p || at[-1] != '\r')
            return true;
        at++;
    }
    return false;
}

/* The target, and the headers that concern framing. */
struct framing {
    struct str target; /* origin form */
    struct str host;   /* of a target in absolute form, or STR_NONE */
    size_t hosts, lengths, codings;
    bool host_valid, length_valid, chunked, expectation_met;
    size_t length_at; /* index of Content-Length */
    uint64_t length;
};

static void note_header(struct framing *framing, struct phr_header *header, size_t index)
{
    struct str name = {header->name, header->name_len};
    /* The parser leaves trailing blanks in a value. They are removed where a value affects framing;
       elsewhere (a key padded with blanks) the handler must see them. */
    struct str value = str_trim_ows((struct str){header->value, header->value_len});

    if (name.n < 4 || name.n > 17)
        return;
    if (str_equal_nocase(name, STR("host"))) {
        framing->hosts++;
        framing->host_valid = is_host(value);
        if (framing->host.p != NULL)
            value = framing->host;
    } else if (str_equal_nocase(name, STR("content-length"))) {
        framing->lengths++;
        framing->length_at = index;
        framing->length_valid = str_to_u64(value, UINT64_MAX, &framing->length);
        /* Strip leading zeros: h2o itself refuses a length of 20 digits, in plain text. */
        while (value.n > 1 && value.p[0] == '0')
            value = str_skip(value, 1);
    } else if (str_equal_nocase(name, STR("transfer-encoding"))) {
        framing->codings++;
        framing->chunked = str_equal_nocase(value, STR("chunked"));
    } else if (str_equal_nocase(name, STR("expect"))) {
        framing->expectation_met &= str_equal_nocase(value, STR("100-continue"));
    } else {
        return;
    }
    header->value = value.p;
    header->value_len = value.n;
}

static enum framing_fault check_framing(const struct framing *framing, int minor_version)
{
    if (framing->hosts > 1 || (framing->hosts == 0 && minor_version > 0) ||
        (framing->hosts == 1 && !framing->host_valid))
        return FRAMING_HOST;
    if (framing->lengths > 0 && framing->codings > 0)
        return FRAMING_LENGTH_AND_CODING;
    if (framing->lengths > 1 || (framing->lengths == 1 && !framing->length_valid))
        return FRAMING_LENGTH;
    if (framing->codings > 1 ||
        (framing->codings == 1 && (!framing->chunked || minor_version == 0)))
        return FRAMING_CODING;
    if (!framing->expectation_met)
        return FRAMING_EXPECTATION;
    if (framing->lengths == 1 && framing->length > FRAMING_BODY_MAX)
        return FRAMING_BODY_TOO_LARGE;
    return FRAMING_SOUND;
}

static void remove_header(struct phr_header *headers, size_t *n, size_t at)
{
    memmove(&headers[at], &headers[at + 1], (*n - at - 1) * sizeof(*headers));
    --*n;
}

/* An HTTP/1.0 client would take "100 Continue" for the response. */
static void forget_expectations(struct phr_header *headers, size_t *n)
{
    for (size_t i = *n; i-- > 0;)
        if (headers[i].name != NULL &&
            str_equal_nocase((struct str){headers[i].name, headers[i].name_len}, STR("expect")))
            remove_header(headers, n, i);
}

/* Checks a parsed request, whose request line and headers are the first `n` bytes of `p`. */
static enum framing_fault check(const char *p, size_t n, struct str method, int minor_version,
                                struct phr_header *headers, size_t n_headers,
                                struct framing *framing)
{
    if (n > FRAMING_HEADER_MAX)
        return FRAMING_HEADERS_TOO_LARGE;
    if (has_bare_line_feed(p, n))
        return FRAMING_BARE_LINE_FEED;
    if (!is_method(method))
        return FRAMING_METHOD;
    if (!split_target(&framing->target, &framing->host))
        return FRAMING_TARGET;
    for (size_t i = 0; i < n_headers; i++) {
        if (headers[i].name == NULL)
            return FRAMING_FOLDED_HEADER;
        note_header(framing, &headers[i], i);
    }
    return check_framing(framing, minor_version);
}

/* -- replacements of the library's ------------------------------------------------------------- */

int phr_parse_request(const char *p, size_t n, const char **method, size_t *method_n,
                      const char **target, size_t *target_n, int *minor_version,
                      struct phr_header *headers, size_t *n_headers, size_t n_seen)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct framing framing;
    enum framing_fault fault;
    int used;

    pthread_once(&once, find_next_parser);
    latest = FRAMING_SOUND;
    used = next_parser(p, n, method, method_n, target, target_n, minor_version, headers, n_headers,
                       n_seen);
    if (used == -2 && n <= FRAMING_HEADER_MAX)
        return used;
    framing = (struct framing){.target = {*target, *target_n}, .expectation_met = true};
    if (used > 0 && *minor_version == 0)
        forget_expectations(headers, n_headers);
    if (used > 0)
        fault = check(p, (size_t)used, (struct str){*method, *method_n}, *minor_version, headers,
                      *n_headers, &framing);
    else
        fault = used == -2 ? FRAMING_HEADERS_TOO_LARGE : FRAMING_MALFORMED;
    latest = fault;
    *target = framing.target.p;
    *target_n = framing.target.n;
    if (fault == FRAMING_SOUND)
        return used;

    if (fault == FRAMING_BODY_TOO_LARGE) {
        /* The handler must answer this like any other request; only the body is not read. */
        remove_header(headers, n_headers, framing.length_at);
        return used;
    }
    *method = "GET";
    *method_n = 3;
    *target = "/";
    *target_n = 1;
    *minor_version = 1;
    *n_headers = 0;
    return (int)n;
}

ssize_t phr_decode_chunked(struct phr_chunked_decoder *decoder, char *p, size_t *n)
{
    ssize_t rest = chunked_decode(decoder, p, n, FRAMING_BODY_MAX);

    latest = FRAMING_SOUND;
    if (rest >= 0 || rest == CHUNKED_INCOMPLETE)
        return rest;
    /* Makes h2o take the body as complete and call the handler, which must check the fault first:
       the entity still has what earlier reads decoded. */
    latest = rest == CHUNKED_TOO_LARGE ? FRAMING_BODY_TOO_LARGE : FRAMING_CHUNK;
    *n = 0;
    return 0;
}
