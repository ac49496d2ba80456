/* http-parser (Node.js' before llhttp) frames every request that the guard of HTTP framing admits
   in the same way: method, target, headers, body, and where the next request begins. The peer may
   refuse a request, since it then forwards none, but only for reasons unrelated to framing. The
   input is what a client sends: consecutive requests. */
#include <http_parser.h>
#include <string.h>

#include "common/base/ascii.h"
#include "common/http/framing.h"
#include "tests/fuzz/fuzz.h"

enum { HEADERS_MAX = 100, MESSAGE_MAX = 70 * 1024, MESSAGES_MAX = 4 };

/* One request, as either parser sees it. */
struct request {
    struct str method, target;
    size_t n_headers;
    struct {
        struct str name, value;
    } headers[2 * HEADERS_MAX]; /* including trailers, which only the peer reads */
    char body[MESSAGE_MAX];
    size_t body_n;
    bool is_chunked, is_complete;
    size_t trailer; /* where the fields after the last chunk begin; SIZE_MAX: there are none */
    size_t end;     /* if complete */
};

static struct request ours, theirs;

/* -- ours -------------------------------------------------------------------------------------- */

static bool has_name(struct str name, const char *other)
{
    return str_equal_nocase(name, str_of(other));
}

/* Where the fields after the last chunk begin in a body that the decoder has admitted; SIZE_MAX:
   there are none, or they have not arrived. */
static size_t find_trailer(struct str body)
{
    struct str left = body;

    for (;;) {
        struct str line = left;
        size_t size = 0;
        const char *line_feed = memchr(left.p, '\n', left.n);

        if (line_feed == NULL)
            return SIZE_MAX;
        for (; hex_value(*line.p) >= 0; line = str_skip(line, 1))
            size = size << 4 | (size_t)hex_value(*line.p);
        left = str_skip(left, (size_t)(line_feed + 1 - left.p));
        if (size == 0)
            return left.n > 0 && left.p[0] != '\r' ? body.n - left.n : SIZE_MAX;
        if (left.n < size + 2)
            return SIZE_MAX;
        left = str_skip(left, size + 2);
    }
}

/* As h2o continues after the head: by the length or by chunks. */
static bool read_body(struct str rest, size_t begin, uint64_t length)
{
    struct phr_chunked_decoder decoder = {.consume_trailer = 1};
    size_t n = rest.n;
    ssize_t left;

    ours.trailer = SIZE_MAX;
    if (!ours.is_chunked) {
        ours.is_complete = rest.n >= length;
        ours.body_n = ours.is_complete ? (size_t)length : rest.n;
        memcpy(ours.body, rest.p, ours.body_n);
        ours.end = begin + ours.body_n;
        return true;
    }
    memcpy(ours.body, rest.p, rest.n);
    left = phr_decode_chunked(&decoder, ours.body, &n);
    if (framing_take() != FRAMING_SOUND)
        return false;
    ours.is_complete = left >= 0;
    ours.body_n = n;
    if (find_trailer(rest) != SIZE_MAX)
        ours.trailer = begin + find_trailer(rest);
    ours.end = begin + rest.n - (left >= 0 ? (size_t)left : 0);
    return true;
}

/* False: the request is not admitted, or its head is incomplete. */
static bool read_ours(struct str bytes, int *minor_version)
{
    struct phr_header headers[HEADERS_MAX];
    size_t n_headers = HEADERS_MAX;
    uint64_t length = 0;
    int used = phr_parse_request(bytes.p, bytes.n, &ours.method.p, &ours.method.n, &ours.target.p,
                                 &ours.target.n, minor_version, headers, &n_headers, 0);

    if (framing_take() != FRAMING_SOUND || used < 0)
        return false;
    ours.is_chunked = false;
    ours.n_headers = n_headers;
    for (size_t i = 0; i < n_headers; i++) {
        const struct str name = {headers[i].name, headers[i].name_len};
        const struct str value = {headers[i].value, headers[i].value_len};

        ours.headers[i].name = name;
        ours.headers[i].value = value;
        if (has_name(name, "content-length"))
            must(str_to_u64(value, FRAMING_BODY_MAX, &length));
        ours.is_chunked |= has_name(name, "transfer-encoding");
    }
    return read_body(str_skip(bytes, (size_t)used), (size_t)used, length);
}

/* -- theirs ------------------------------------------------------------------------------------ */

static int on_target(http_parser *parser, const char *p, size_t n)
{
    theirs.target = (struct str){p, n};
    return 0;
}

static int on_name(http_parser *parser, const char *p, size_t n)
{
    if (theirs.n_headers == ARRAY_SIZE(theirs.headers))
        return 1;
    theirs.headers[theirs.n_headers].name = (struct str){p, n};
    theirs.headers[theirs.n_headers++].value = STR("");
    return 0;
}

/* The parser gets all bytes at once, so even a value that ends in blanks comes in one piece. */
static int on_value(http_parser *parser, const char *p, size_t n)
{
    theirs.headers[theirs.n_headers - 1].value = (struct str){p, n};
    return 0;
}

static int on_body(http_parser *parser, const char *p, size_t n)
{
    must(theirs.body_n + n <= sizeof(theirs.body));
    memcpy(theirs.body + theirs.body_n, p, n);
    theirs.body_n += n;
    return 0;
}

static int on_complete(http_parser *parser)
{
    theirs.is_complete = true;
    http_parser_pause(parser, 1);
    return 0;
}

/* The peer mistakes a header whose name has this prefix for the header itself. */
static bool has_longer_name(struct str name)
{
    for (size_t i = 0; i < ours.n_headers; i++)
        if (ours.headers[i].name.n > name.n &&
            str_equal_nocase((struct str){ours.headers[i].name.p, name.n}, name))
            return true;
    return false;
}

/* For us, as in RFC 9110, a tab after a value is blank; for the peer it is not. */
static bool has_tab(void)
{
    for (size_t i = 0; i < ours.n_headers; i++) {
        const struct str value = ours.headers[i].value;
        const char *end = value.p + value.n;

        while (*end == ' ')
            end++;
        if (*end == '\t')
            return true;
    }
    return false;
}

/* Errors that only the peer reports: an unknown method, and those in the fields of a trailer, which
   we do not read. */
static bool may_refuse(enum http_errno error, bool in_trailer)
{
    switch (error) {
    case HPE_INVALID_METHOD:
        return true;
    case HPE_UNEXPECTED_CONTENT_LENGTH:
    case HPE_INVALID_TRANSFER_ENCODING:
        return in_trailer || has_tab() || has_longer_name(STR("transfer-encoding"));
    case HPE_INVALID_CONTENT_LENGTH:
        return in_trailer || has_tab();
    case HPE_INVALID_HEADER_TOKEN:
    case HPE_CB_header_field:
        return in_trailer;
    default:
        return false;
    }
}

/* False: the peer refuses the request. */
static bool read_theirs(struct str bytes, http_parser *parser)
{
    static const http_parser_settings settings = {
        .on_url = on_target,
        .on_header_field = on_name,
        .on_header_value = on_value,
        .on_body = on_body,
        .on_message_complete = on_complete,
    };
    enum http_errno error;

    http_parser_init(parser, HTTP_REQUEST);
    theirs.n_headers = theirs.body_n = 0;
    theirs.is_complete = false;
    theirs.end = http_parser_execute(parser, &settings, bytes.p, bytes.n);
    error = HTTP_PARSER_ERRNO(parser);
    if (error == HPE_OK || (error == HPE_PAUSED && theirs.is_complete))
        return true;
    must(may_refuse(error, theirs.end >= ours.trailer));
    return false;
}

/* Reduces a target in absolute form to path and host, by the peer's own parser of URLs. False: it
   knows fewer characters of hosts than we do. The host is STR_NONE for another target. */
static bool split_theirs(struct str *host)
{
    struct http_parser_url url;
    struct str target = theirs.target;
    size_t end;

    *host = STR_NONE;
    if (target.p[0] == '/')
        return true;
    http_parser_url_init(&url);
    if (http_parser_parse_url(target.p, target.n, 0, &url) != 0)
        return false;
    end = (url.field_set & 1 << UF_PATH) != 0    ? url.field_data[UF_PATH].off
          : (url.field_set & 1 << UF_QUERY) != 0 ? url.field_data[UF_QUERY].off - 1u
                                                 : target.n;
    *host = (struct str){target.p, end};
    *host = str_skip(*host, (size_t)((const char *)memchr(target.p, ':', end) + 3 - target.p));
    theirs.target = (url.field_set & 1 << UF_PATH) != 0 ? str_skip(target, end) : STR("/");
    return true;
}

/* -- both -------------------------------------------------------------------------------------- */

/* The guard removes leading zeros from a length, because h2o limits the number of digits. */
static struct str canonical(struct str name, struct str value)
{
    value = str_trim_ows(value);
    while (has_name(name, "content-length") && value.n > 1 && value.p[0] == '0')
        value = str_skip(value, 1);
    return value;
}

static void compare_headers(int minor_version, struct str host)
{
    size_t k = 0;

    for (size_t i = 0; i < ours.n_headers; i++, k++) {
        /* The guard removes Expect from HTTP/1.0 requests, where it has no meaning. */
        while (minor_version == 0 && k < theirs.n_headers &&
               has_name(theirs.headers[k].name, "expect"))
            k++;
        must(k < theirs.n_headers);
        must(str_equal(ours.headers[i].name, theirs.headers[k].name));
        if (host.p != NULL && has_name(ours.headers[i].name, "host"))
            theirs.headers[k].value = host; /* the target's, since it wins */
        must(str_equal(canonical(ours.headers[i].name, ours.headers[i].value),
                       canonical(theirs.headers[k].name, theirs.headers[k].value)));
    }
}

static void compare(const http_parser *parser, int minor_version)
{
    const char *method = http_method_str((enum http_method)parser->method);
    struct str host;

    must(str_equal(ours.method, str_of(method)));
    must(parser->http_major == 1 && parser->http_minor == minor_version);
    if (split_theirs(&host)) {
        must(str_equal(ours.target, theirs.target));
        compare_headers(minor_version, host);
    }
    must(ours.is_complete == theirs.is_complete);
    must(ours.body_n == theirs.body_n && memcmp(ours.body, theirs.body, ours.body_n) == 0);
    /* A paused parser stops before the byte that ended the message. */
    if (ours.is_complete)
        must(ours.end == theirs.end || ours.end == theirs.end + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str bytes = {(const char *)data, n};
    http_parser parser;
    int minor_version;

    if (n > MESSAGE_MAX)
        return 0;
    for (int i = 0; i < MESSAGES_MAX && read_ours(bytes, &minor_version); i++) {
        if (!read_theirs(bytes, &parser))
            break;
        compare(&parser, minor_version);
        if (!ours.is_complete)
            break;
        bytes = str_skip(bytes, ours.end);
    }
    return 0;
}
