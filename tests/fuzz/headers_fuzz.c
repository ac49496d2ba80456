/* The headers of a request, from the received bytes to the values that programs read: counts agree
   with an independent count, and each reader keeps its promises. */
#include <string.h>

#include "common/base/ascii.h"
#include "common/http/client_address.h"
#include "common/http/framing.h"
#include "common/http/request_headers.h"
#include "common/trace/trace.h"
#include "services/dashboard/identity.h"
#include "tests/fuzz/fuzz.h"

enum { NAME_BYTES = 256 };

static struct phr_header parsed[REQUEST_HEADERS_MAX];
static size_t n_parsed;

/* The number of headers with this name. */
static size_t count(const char *name)
{
    size_t n = 0;

    for (size_t i = 0; i < n_parsed; i++)
        n += str_equal_nocase((struct str){parsed[i].name, parsed[i].name_len}, str_of(name));
    return n;
}

/* The headers as h2o passes them: names in lower case. */
static h2o_headers_t headers_of(void)
{
    static char names[REQUEST_HEADERS_MAX][NAME_BYTES];
    static h2o_iovec_t vectors[REQUEST_HEADERS_MAX];
    static h2o_header_t entries[REQUEST_HEADERS_MAX];

    for (size_t i = 0; i < n_parsed; i++) {
        const size_t n = parsed[i].name_len < NAME_BYTES ? parsed[i].name_len : NAME_BYTES;

        for (size_t k = 0; k < n; k++)
            names[i][k] = ascii_lower(parsed[i].name[k]);
        vectors[i] = h2o_iovec_init(names[i], n);
        entries[i].name = &vectors[i];
        entries[i].value = h2o_iovec_init(parsed[i].value, parsed[i].value_len);
    }
    return (h2o_headers_t){.entries = entries, .size = n_parsed, .capacity = n_parsed};
}

static void check_counts(const struct request_headers *headers)
{
    must(headers->authorization.n == count("authorization"));
    must(headers->content_type.n == count("content-type"));
    must(headers->traceparent.n == count("traceparent"));
    must(headers->csrf_token.n == count("x-csrf-token"));
    must(headers->accept.n == count("accept"));
    must(headers->cookie.n == count("cookie"));
    must(headers->forwarded_for.n == count("x-forwarded-for"));
    must((request_header_once(&headers->origin).p != NULL) == (count("origin") == 1));
}

/* A client that names JSON accepts it, whatever other types it names. */
static void check_media(struct request_header_lines *accept)
{
    if (accept->n == 0)
        must(media_accepts_json(NULL, 0));
    if (accept->n == REQUEST_HEADERS_MAX)
        return;
    accept->at[accept->n] = STR("text/html;q=0.1, application/json");
    must(media_accepts_json(accept->at, accept->n + 1));
}

/* Claims from an address that is not trusted do not count. */
static void check_client(const struct request_headers *headers)
{
    const struct request_header_lines *lines = &headers->forwarded_for;
    const struct address peer = {{[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1}};
    struct networks trusted, nobody = {.n = 0};
    struct address found;

    must(networks_parse(STR("10.0.0.0/8,fd00::/8"), &trusted, NULL));
    found = client_address(&peer, &nobody, lines->at, lines->n);
    must(address_equal(&found, &peer));
    found = client_address(&peer, &trusted, lines->at, lines->n);
    must(lines->n > 0 || address_equal(&found, &peer));
    must(!client_is_https(false, &peer, &nobody, headers->forwarded_proto.value));
    must(headers->forwarded_proto.n > 0 ||
         !client_is_https(false, &peer, &trusted, headers->forwarded_proto.value));
}

static void check_session(const struct request_headers *headers)
{
    const struct str token = cookie_token(headers->cookie.at, headers->cookie.n, true);
    char cookie[COOKIE_TEXT];
    struct str value;

    must(!origin_is_own(headers->origin.value, true, STR_NONE));
    must(headers->fetch_site.n > 0 || !origin_is_foreign(headers->fetch_site.value));
    if (token.p == NULL)
        return;
    must(cookie_is_token(token));
    cookie_write(token, true, cookie);
    value = str_of(cookie);
    value = str_cut(&value, ';');
    must(str_equal(cookie_token(&value, 1, true), token));
    must(cookie_token(&value, 1, false).p == NULL);
}

static void check_trace(const struct request_headers *headers)
{
    struct trace_context context;
    const struct str value = str_trim_ows(request_header_once(&headers->traceparent));

    must(trace_context_parse(value, &context) == (trace_id_of(value).p != NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct request_headers headers;
    h2o_headers_t given;

    n_parsed = REQUEST_HEADERS_MAX;
    if (phr_parse_headers((const char *)data, n, parsed, &n_parsed, 0) < 0)
        return 0;
    for (size_t i = 0; i < n_parsed; i++)
        if (parsed[i].name == NULL) /* a folded header line: the guard admits none */
            return 0;
    given = headers_of();
    request_headers_read(&given, &headers);
    check_counts(&headers);
    check_media(&headers.accept);
    check_client(&headers);
    check_session(&headers);
    check_trace(&headers);
    return 0;
}
