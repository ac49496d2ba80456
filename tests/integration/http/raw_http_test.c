/* Requests that no HTTP library would send, byte by byte: each gets the right answer in its
   envelope, keeps or ends the connection as it should, and leaves the gateway alive. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "tests/support/api_client.h"
#include "tests/support/http_connection.h"
#include "tests/support/sql.h"

TestSuite(raw_http, .init = stack_share);

enum { TIMEOUT_MS = 30000 };
enum ending { CLOSES, STAYS };

struct row {
    const char *why;
    const char *p;
    size_t n;
    int status;
    const char *code; /* NULL for success */
    enum ending ending;
};

/* @ stands for the Authorization line with a full key; NUL bytes are allowed. */
#define BYTES(text) (text), sizeof(text) - 1
#define HOST        "Host: api.example\r\n"
#define PING        "GET /api/v1/ping HTTP/1.1\r\n"
#define CREATE      "POST /api/v1/conversations HTTP/1.1\r\n" HOST "@"
#define JSON        "Content-Type: application/json\r\n"
#define CHUNKED     CREATE JSON "Transfer-Encoding: chunked\r\n\r\n"
#define INVALID     "parameter_invalid"

static const struct row framing[] = {
    /* The request line. */
    {"not HTTP", BYTES("hello\r\n\r\n"), 400, INVALID, CLOSES},
    {"a method alone", BYTES("GET\r\n\r\n"), 400, INVALID, CLOSES},
    {"HTTP/0.9", BYTES("GET /api/v1/ping\r\n\r\n"), 400, INVALID, CLOSES},
    {"HTTP/2.0 in text", BYTES("GET /api/v1/ping HTTP/2.0\r\n" HOST "@\r\n"), 400, INVALID, CLOSES},
    {"an unknown protocol", BYTES("GET /api/v1/ping FTP/1.1\r\n" HOST "@\r\n"), 400, INVALID,
     CLOSES},
    {"the preface of HTTP/2", BYTES("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 400, INVALID, CLOSES},
    {"a TLS hello", BYTES("\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03\r\n\r\n"), 400, INVALID,
     CLOSES},
    {"two blanks before the target", BYTES("GET  /api/v1/ping HTTP/1.1\r\n" HOST "@\r\n"), 400,
     INVALID, CLOSES},
    {"a blank inside the target", BYTES("GET /api/v1/pi ng HTTP/1.1\r\n" HOST "@\r\n"), 400,
     INVALID, CLOSES},
    {"a method that is not a token", BYTES("G(T /api/v1/ping HTTP/1.1\r\n" HOST "@\r\n"), 400,
     INVALID, CLOSES},
    {"a control character in the target", BYTES("GET /api/v1/\x01ping HTTP/1.1\r\n" HOST "@\r\n"),
     400, INVALID, CLOSES},
    {"DEL in the target", BYTES("GET /api/v1/\x7fping HTTP/1.1\r\n" HOST "@\r\n"), 400, INVALID,
     CLOSES},
    {"bytes beyond ASCII in the target", BYTES("GET /api/v1/p\xc3\xafng HTTP/1.1\r\n" HOST "@\r\n"),
     400, INVALID, CLOSES},
    {"NUL in the target", BYTES("GET /api/v1/ping\0 HTTP/1.1\r\n" HOST "@\r\n"), 400, INVALID,
     CLOSES},
    {"a target with another scheme", BYTES("GET ftp://other/api/v1/ping HTTP/1.1\r\n" HOST "@\r\n"),
     400, INVALID, CLOSES},
    {"a target that is an asterisk", BYTES("OPTIONS * HTTP/1.1\r\n" HOST "@\r\n"), 400, INVALID,
     CLOSES},
    {"a request to tunnel", BYTES("CONNECT other:443 HTTP/1.1\r\n" HOST "@\r\n"), 400, INVALID,
     CLOSES},
    {"a target without a slash", BYTES("GET api/v1/ping HTTP/1.1\r\n" HOST "@\r\n"), 400, INVALID,
     CLOSES},
    {"bare line feeds", BYTES("GET /api/v1/ping HTTP/1.1\nHost: x\n\n"), 400, INVALID, CLOSES},
    {"one bare line feed", BYTES(PING "Host: x\n@\r\n"), 400, INVALID, CLOSES},
    /* Host. */
    {"no Host", BYTES(PING "@\r\n"), 400, INVALID, CLOSES},
    {"two Hosts", BYTES(PING HOST HOST "@\r\n"), 400, INVALID, CLOSES},
    {"an empty Host", BYTES(PING "Host: \r\n@\r\n"), 400, INVALID, CLOSES},
    {"a list as Host", BYTES(PING "Host: a,b\r\n@\r\n"), 400, INVALID, CLOSES},
    {"a Host with a blank", BYTES(PING "Host: a b\r\n@\r\n"), 400, INVALID, CLOSES},
    {"a Host with a user", BYTES(PING "Host: me@x\r\n\r\n"), 400, INVALID, CLOSES},
    {"a Host with a path", BYTES(PING "Host: x/y\r\n@\r\n"), 400, INVALID, CLOSES},
    /* Headers. */
    {"a header without a colon", BYTES(PING HOST "@Nonsense\r\n\r\n"), 400, INVALID, CLOSES},
    {"a header without a name", BYTES(PING HOST "@: x\r\n\r\n"), 400, INVALID, CLOSES},
    {"a blank before the colon", BYTES(PING HOST "@X-A : x\r\n\r\n"), 400, INVALID, CLOSES},
    {"a blank in a name", BYTES(PING HOST "@X A: x\r\n\r\n"), 400, INVALID, CLOSES},
    {"a header that is continued", BYTES(PING HOST "@X-A: x\r\n y\r\n\r\n"), 400, INVALID, CLOSES},
    {"a first header that is a continuation", BYTES(PING " X-A: x\r\n" HOST "@\r\n"), 400, INVALID,
     CLOSES},
    {"NUL in a value", BYTES(PING HOST "@X-A: a\0b\r\n\r\n"), 400, INVALID, CLOSES},
    {"NUL in a name", BYTES(PING HOST "@X-\0A: a\r\n\r\n"), 400, INVALID, CLOSES},
    {"a control character in a value", BYTES(PING HOST "@X-A: a\x01z\r\n\r\n"), 400, INVALID,
     CLOSES},
    {"a carriage return in a value", BYTES(PING HOST "@X-A: a\rb\r\n\r\n"), 400, INVALID, CLOSES},
    /* The length of the body, by which requests could be smuggled. */
    {"Content-Length beside Transfer-Encoding",
     BYTES(CREATE JSON "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400,
     INVALID, CLOSES},
    {"Transfer-Encoding beside Content-Length",
     BYTES(CREATE JSON "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"), 400,
     INVALID, CLOSES},
    {"two lengths that differ",
     BYTES(CREATE JSON "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"), 400, INVALID, CLOSES},
    {"two lengths that agree",
     BYTES(CREATE JSON "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}"), 400, INVALID, CLOSES},
    {"a list of lengths", BYTES(CREATE JSON "Content-Length: 2, 2\r\n\r\n{}"), 400, INVALID,
     CLOSES},
    {"a length with a plus", BYTES(CREATE JSON "Content-Length: +2\r\n\r\n{}"), 400, INVALID,
     CLOSES},
    {"a negative length", BYTES(CREATE JSON "Content-Length: -1\r\n\r\n"), 400, INVALID, CLOSES},
    {"a length in hex", BYTES(CREATE JSON "Content-Length: 0x2\r\n\r\n{}"), 400, INVALID, CLOSES},
    {"a length with a point", BYTES(CREATE JSON "Content-Length: 2.0\r\n\r\n{}"), 400, INVALID,
     CLOSES},
    {"an empty length", BYTES(CREATE JSON "Content-Length: \r\n\r\n"), 400, INVALID, CLOSES},
    {"a length beyond 64 bits", BYTES(CREATE JSON "Content-Length: 18446744073709551618\r\n\r\n{}"),
     400, INVALID, CLOSES},
    {"another coding", BYTES(CREATE JSON "Transfer-Encoding: gzip\r\n\r\n"), 400, INVALID, CLOSES},
    {"two codings", BYTES(CREATE JSON "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"), 400,
     INVALID, CLOSES},
    {"chunked in the wrong place",
     BYTES(CREATE JSON "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n"), 400, INVALID, CLOSES},
    {"chunked twice",
     BYTES(CREATE JSON "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
     400, INVALID, CLOSES},
    {"nearly chunked", BYTES(CREATE JSON "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"), 400,
     INVALID, CLOSES},
    {"chunked with a vertical tab",
     BYTES(CREATE JSON "Transfer-Encoding: \vchunked\r\n\r\n0\r\n\r\n"), 400, INVALID, CLOSES},
    {"identity", BYTES(CREATE JSON "Transfer-Encoding: identity\r\n\r\n"), 400, INVALID, CLOSES},
    {"chunked in HTTP/1.0",
     BYTES("POST /api/v1/conversations HTTP/1.0\r\n@" JSON
           "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
     400, INVALID, CLOSES},
    {"an expectation of something else",
     BYTES(CREATE JSON "Expect: 200-ok\r\nContent-Length: 2\r\n\r\n{}"), 417, INVALID, CLOSES},
    /* Chunks. */
    {"a chunk's size in C", BYTES(CHUNKED "0x2\r\n{}\r\n0\r\n\r\n"), 400, INVALID, CLOSES},
    {"a chunk's size with a plus", BYTES(CHUNKED "+2\r\n{}\r\n0\r\n\r\n"), 400, INVALID, CLOSES},
    {"a negative chunk's size", BYTES(CHUNKED "-2\r\n{}\r\n0\r\n\r\n"), 400, INVALID, CLOSES},
    {"a blank before a chunk's size", BYTES(CHUNKED " 2\r\n{}\r\n0\r\n\r\n"), 400, INVALID, CLOSES},
    {"an empty chunk's size", BYTES(CHUNKED "\r\n{}\r\n0\r\n\r\n"), 400, INVALID, CLOSES},
    {"a chunk's size that is not a number", BYTES(CHUNKED "zz\r\n{}\r\n0\r\n\r\n"), 400, INVALID,
     CLOSES},
    {"a chunk's size of many digits", BYTES(CHUNKED "0000000000000002\r\n{}\r\n0\r\n\r\n"), 400,
     INVALID, CLOSES},
    {"a chunk longer than its size", BYTES(CHUNKED "2\r\n{}}\r\n0\r\n\r\n"), 400, INVALID, CLOSES},
    {"a chunk's line that ends in a line feed", BYTES(CHUNKED "2\n{}\r\n0\r\n\r\n"), 400, INVALID,
     CLOSES},
    {"a chunk that promises 4 GiB", BYTES(CHUNKED "ffffffff\r\n"), 413, "payload_too_large",
     CLOSES},
    {"chunks that promise more than 64 KiB", BYTES(CHUNKED "1\r\n \r\n10000\r\n"), 413,
     "payload_too_large", CLOSES},
    {"a length over 64 KiB", BYTES(CREATE JSON "Content-Length: 65537\r\n\r\n"), 413,
     "payload_too_large", CLOSES},
    {"a length over 64 KiB with Expect: 100-continue",
     BYTES(CREATE JSON "Expect: 100-continue\r\nContent-Length: 70000\r\n\r\n"), 413,
     "payload_too_large", CLOSES},
};

#define POSTED(length, body) BYTES(CREATE JSON "Content-Length: " #length "\r\n\r\n" body)

static const struct row contents[] = {
    /* Sound framing: the connection stays open. */
    {"a blank line before the request", BYTES("\r\n" PING HOST "@\r\n"), 200, NULL, STAYS},
    {"names in any case", BYTES(PING "hOST: x\r\n@\r\n"), 200, NULL, STAYS},
    {"a length with many zeros in front", POSTED(0000000000000000000000002, "[]"), 400, INVALID,
     STAYS},
    {"an upgrade to HTTP/2",
     BYTES(PING HOST "@Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
                     "HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n\r\n"),
     200, NULL, CLOSES},
    {"an upgrade to a web socket",
     BYTES(PING HOST "@Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                     "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"),
     200, NULL, CLOSES},
    {"a client that wants to close", BYTES(PING HOST "@Connection: close\r\n\r\n"), 200, NULL,
     CLOSES},
    {"HTTP/1.0 without Host", BYTES("GET /api/v1/ping HTTP/1.0\r\n@\r\n"), 200, NULL, CLOSES},
    {"dots in the path", BYTES("GET /api/v1/x/../ping HTTP/1.1\r\n" HOST "@\r\n"), 404, "not_found",
     STAYS},
    {"two slashes", BYTES("GET //api/v1/ping HTTP/1.1\r\n" HOST "@\r\n"), 404, "not_found", STAYS},
    {"an encoded slash", BYTES("GET /api/v1%2fping HTTP/1.1\r\n" HOST "@\r\n"), 404, "not_found",
     STAYS},
    {"a broken escape", BYTES("GET /api/v1/conversations/%zz HTTP/1.1\r\n" HOST "@\r\n"), 404,
     "not_found", STAYS},
    {"an unknown method", BYTES("BREW /api/v1/ping HTTP/1.1\r\n" HOST "@\r\n"), 405,
     "method_not_allowed", STAYS},
    {"no key", BYTES(PING HOST "\r\n"), 401, "unauthorized", STAYS},
    {"two keys", BYTES(PING HOST "@@\r\n"), 401, "unauthorized", STAYS},
    {"an empty Authorization", BYTES(PING HOST "Authorization:\r\n\r\n"), 401, "unauthorized",
     STAYS},
    {"bytes beyond ASCII in a key",
     BYTES(PING HOST "Authorization: Bearer svc_live_\xc3\xa9\xff\r\n\r\n"), 401, "unauthorized",
     STAYS},
    /* Bodies. */
    {"no body and no length", BYTES(CREATE JSON "\r\n"), 400, "invalid_json", STAYS},
    {"an empty body", POSTED(0, ""), 400, "invalid_json", STAYS},
    {"blanks only", POSTED(3, " \r\n"), 400, "invalid_json", STAYS},
    {"a byte order mark", POSTED(5, "\xef\xbb\xbf{}"), 400, "invalid_json", STAYS},
    {"UTF-16", POSTED(6, "\xff\xfe{\0}\0"), 400, "invalid_json", STAYS},
    {"NUL", POSTED(1, "\0"), 400, "invalid_json", STAYS},
    {"NUL after the value", POSTED(3, "{}\0"), 400, "invalid_json", STAYS},
    {"something after the value", POSTED(4, "{} x"), 400, "invalid_json", STAYS},
    {"two values", POSTED(4, "{}{}"), 400, "invalid_json", STAYS},
    {"a value cut off", POSTED(5, "{\"a\":"), 400, "invalid_json", STAYS},
    {"a string cut off", POSTED(3, "{\"a"), 400, "invalid_json", STAYS},
    {"an extra comma", POSTED(8, "{\"a\":1,}"), 400, "invalid_json", STAYS},
    {"a comment", POSTED(9, "{/*no*/}\n"), 400, "invalid_json", STAYS},
    {"single quotes", POSTED(7, "{'a':1}"), 400, "invalid_json", STAYS},
    {"a name without quotes", POSTED(5, "{a:1}"), 400, "invalid_json", STAYS},
    {"NaN", POSTED(9, "{\"a\":NaN}"), 400, "invalid_json", STAYS},
    {"a number with a leading zero", POSTED(8, "{\"a\":01}"), 400, "invalid_json", STAYS},
    {"a line feed inside a string", POSTED(9, "{\"a\":\"\n\"}"), 400, "invalid_json", STAYS},
    {"an unknown escape", POSTED(10, "{\"a\":\"\\x\"}"), 400, "invalid_json", STAYS},
    {"bytes that are not UTF-8", POSTED(9, "{\"a\":\"\xff\"}"), 400, "invalid_json", STAYS},
    {"an overlong slash", POSTED(10, "{\"a\":\"\xc0\xaf\"}"), 400, "invalid_json", STAYS},
    {"a surrogate in UTF-8", POSTED(11, "{\"a\":\"\xed\xa0\x80\"}"), 400, "invalid_json", STAYS},
    {"half a surrogate pair", POSTED(14, "{\"a\":\"\\ud83d\"}"), 400, "invalid_json", STAYS},
    {"a key twice", POSTED(13, "{\"a\":1,\"a\":2}"), 400, "invalid_json", STAYS},
    {"a chunked body that is not JSON", BYTES(CHUNKED "2\r\n{]\r\n0\r\n\r\n"), 400, "invalid_json",
     STAYS},
    {"a media type that is not JSON",
     BYTES(CREATE "Content-Type: text/json\r\nContent-Length: 2\r\n\r\n{}"), 415,
     "unsupported_media_type", STAYS},
    {"two media types",
     BYTES(CREATE JSON "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}"), 415,
     "unsupported_media_type", STAYS},
};

/* The row's bytes with the key in place; free() it. */
static char *bytes_of(const struct row *row, const struct org *org, size_t *n)
{
    char line[128];
    int line_n = snprintf(line, sizeof(line), "Authorization: Bearer %s\r\n", org->full_key);
    char *bytes = malloc(row->n + 4 * sizeof(line));

    cr_assert_not_null(bytes);
    *n = 0;
    for (size_t i = 0; i < row->n; i++) {
        /* Only at the start of a line, since a host may contain @ as well. */
        if (row->p[i] == '@' && (row->p[i - 1] == '\n' || row->p[i - 1] == '@')) {
            memcpy(bytes + *n, line, (size_t)line_n);
            *n += (size_t)line_n;
        } else {
            bytes[(*n)++] = row->p[i];
        }
    }
    return bytes;
}

static void expect_envelope(const struct row *row, const struct connection_response *response)
{
    json_t *json = json_loads(response->body, JSON_REJECT_DUPLICATES, NULL);
    char id[64] = "", value[64] = "";
    const char *type = NULL, *in_body = NULL, *code = NULL;

    cr_assert(http_connection_header(response, "X-Service-Request-Id", id, sizeof(id)), "%s",
              row->why);
    cr_assert(http_connection_header(response, "Cache-Control", value, sizeof(value)), "%s",
              row->why);
    cr_assert_str_eq(value, "no-store", "%s", row->why);
    cr_assert(http_connection_header(response, "Content-Type", value, sizeof(value)), "%s",
              row->why);
    cr_assert_str_eq(value, "application/json", "%s", row->why);
    cr_assert_not_null(json, "%s: %s", row->why, response->body);
    if (row->code != NULL) {
        cr_assert_eq(json_unpack(json, "{s:s, s:s, s:[{s:s}]}", "type", &type, "request_id",
                                 &in_body, "errors", "code", &code),
                     0, "%s: %s", row->why, response->body);
        cr_assert_str_eq(type, "error.list", "%s", row->why);
        cr_assert_str_eq(in_body, id, "%s", row->why);
        cr_assert_str_eq(code, row->code, "%s: %s", row->why, response->body);
    }
    json_decref(json);
}

/* The next request on the connection gets its own answer. */
static void expect_goes_on(const struct row *row, struct http_connection *connection,
                           const struct org *org)
{
    struct connection_response response;
    const char *next = format("GET /api/v1/ping HTTP/1.1\r\nHost: x\r\n"
                              "Authorization: Bearer %s\r\n\r\n",
                              org->full_key);

    cr_assert(http_connection_send(connection, next, strlen(next)), "%s: closed", row->why);
    cr_assert(http_connection_receive(connection, &response, TIMEOUT_MS),
              "%s: no response to the next request", row->why);
    cr_assert_eq(response.status, 200, "%s: the next request got %d", row->why, response.status);
    cr_assert_eq(http_connection_pending(connection), 0, "%s: an extra response", row->why);
}

static void check_row(const struct row *row, const struct org *org)
{
    struct connection_response response;
    struct http_connection connection;
    size_t n;
    char *bytes = bytes_of(row, org, &n);

    cr_assert(http_connection_open(&connection, stack_gateway_port()));
    http_connection_send(&connection, bytes, n);
    cr_assert(http_connection_receive(&connection, &response, TIMEOUT_MS),
              "%s: no answer; head: %s", row->why, response.head);
    cr_assert_eq(response.status, row->status, "%s: %d %s", row->why, response.status,
                 response.body);
    expect_envelope(row, &response);
    if (row->ending == CLOSES) {
        cr_assert(response.closes, "%s: %s", row->why, response.head);
        http_connection_end_sending(&connection);
        cr_assert(http_connection_ends(&connection, TIMEOUT_MS), "%s: the connection stays open",
                  row->why);
    } else {
        cr_assert_not(response.closes, "%s: %s", row->why, response.head);
        expect_goes_on(row, &connection, org);
    }
    http_connection_close(&connection);
    free(bytes);
}

static void check_rows(const struct row *rows, size_t n)
{
    pid_t gateway = stack_pid("gateway-0");
    struct org org;

    org_new(&org);
    for (size_t i = 0; i < n; i++)
        check_row(&rows[i], &org);
    cr_assert_eq(stack_pid("gateway-0"), gateway, "the gateway was started again");
    expect_status(api_get(org.full_key, "/ping"), 200);
    cr_assert_eq(sql_integer("SELECT count(*) FROM conversation.conversations"
                             " WHERE organization_id = $1::uuid",
                             org.id, NULL),
                 0);
}

Test(raw_http, unsound_framing_is_answered_and_ends_the_connection)
{
    check_rows(framing, ARRAY_SIZE(framing));
}

Test(raw_http, well_framed_requests_are_answered_and_keep_the_connection)
{
    check_rows(contents, ARRAY_SIZE(contents));
}

Test(raw_http, deep_nesting_is_refused_however_deep)
{
    static const int depths[] = {33, 1000, 30000};
    struct org org;

    org_new(&org);
    for (size_t i = 0; i < ARRAY_SIZE(depths); i++) {
        size_t n = (size_t)depths[i];
        char *body = malloc(2 * n + 1);

        memset(body, '[', n);
        memset(body + n, ']', n);
        body[2 * n] = '\0';
        expect_error(api_post(org.full_key, "/conversations", body), 400, "invalid_json", "*");
        memset(body, '[', 2 * n);
        expect_error(api_post(org.full_key, "/conversations", body), 400, "invalid_json", "*");
        free(body);
    }
}
