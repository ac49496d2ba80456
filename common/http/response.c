#include "common/http/response.h"

#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/http/edge.h"
#include "common/http/status_counts.h"
#include "common/json/json.h"

#define NUMBER_CAPACITY 24
#define HEADERS_USUAL   11 /* the headers of each response and those that programs usually add */

/* -- headers --------------------------------------------------------------------------------- */

void response_add(struct edge_request *http, struct str name, const char *shown, struct str value)
{
    h2o_req_t *req = http->req;

    h2o_add_header_by_str(&req->pool, &req->res.headers, name.p, name.n, 0, shown, value.p,
                          value.n);
}

/* No printf(), since every response of the API has three numbers. */
struct str response_number(struct edge_request *http, uint64_t value)
{
    char text[NUMBER_CAPACITY];
    size_t at = NUMBER_CAPACITY;
    h2o_iovec_t kept;

    do {
        text[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    kept = h2o_strdup(&http->req->pool, text + at, NUMBER_CAPACITY - at);
    return (struct str){kept.base, kept.len};
}

void response_add_number(struct edge_request *http, struct str name, const char *shown,
                         uint64_t value)
{
    response_add(http, name, shown, response_number(http, value));
}

void response_begin(struct edge_request *http, const struct response_form *form, int status,
                    const char *type, const char *caching)
{
    const bool capitals = form->is_capitalized;
    h2o_req_t *req = http->req;

    req->res.status = status;
    req->res.reason = reason_of(status);
    h2o_vector_reserve(&req->pool, &req->res.headers, HEADERS_USUAL + form->n_always);
    if (type != NULL)
        response_add(http, STR("content-type"), capitals ? "Content-Type" : NULL, str_of(type));
    response_add(http, STR("cache-control"), capitals ? "Cache-Control" : NULL, str_of(caching));
    response_add(http, STR("x-service-request-id"), capitals ? "X-Service-Request-Id" : NULL,
                 str_of(http->id));
    for (size_t i = 0; i < form->n_always; i++)
        response_add(http, str_of(form->always[i].name), NULL, str_of(form->always[i].value));
}

/* -- bodies ---------------------------------------------------------------------------------- */

struct str response_error(struct edge_request *http, enum outcome outcome, const char *message,
                          const char *field)
{
    struct buf buf;

    buf_init(&buf, &http->arena, 256);
    buf_add(&buf, STR("[{"));
    json_add_text(&buf, "code", str_of(outcome_code(outcome)));
    json_add_text(&buf, "message", str_of(message));
    if (field != NULL)
        json_add_text(&buf, "field", str_of(field));
    buf_add(&buf, STR("}]"));
    return buf_str(&buf);
}

static h2o_iovec_t iovec_of(struct str s)
{
    return h2o_iovec_init(s.p, s.n);
}

static size_t add_envelope(const struct edge_request *http, struct str errors, h2o_iovec_t *parts)
{
    size_t n = 0;

    parts[n++] = iovec_of(STR("{\"type\":\"error.list\",\"request_id\":\""));
    parts[n++] = iovec_of(str_of(http->id));
    parts[n++] = iovec_of(STR("\",\"errors\":"));
    parts[n++] = iovec_of(errors);
    parts[n++] = iovec_of(STR("}\n"));
    return n;
}

enum { PARTS_MAX = 5 };

static void send_parts(struct edge_request *http, h2o_iovec_t *parts, size_t n)
{
    static h2o_generator_t generator = {NULL, NULL};
    h2o_req_t *req = http->req;
    bool is_head = h2o_memis(req->input.method.base, req->input.method.len, H2O_STRLIT("HEAD"));
    size_t length = 0;

    for (size_t i = 0; i < n; i++)
        length += parts[i].len;
    /* A 304 has no Content-Length, which would be that of the file. */
    if (req->res.status != 304)
        req->res.content_length = length;
    edge_request_sending_whole(http, is_head ? 0 : length);
    h2o_start_response(req, &generator);
    h2o_send(req, parts, is_head ? 0 : n, H2O_SEND_STATE_FINAL);
}

void response_send(struct edge_request *http, struct str json)
{
    h2o_iovec_t parts[PARTS_MAX];
    size_t n = 0;

    if (http->req->res.status >= 400) {
        n = add_envelope(http, json, parts);
    } else if (json.n > 0) {
        parts[n++] = iovec_of(json);
        parts[n++] = iovec_of(STR("\n"));
    }
    send_parts(http, parts, n);
}

void response_send_file(struct edge_request *http, struct str bytes)
{
    h2o_iovec_t part = iovec_of(bytes);

    send_parts(http, &part, http->req->res.status != 304);
}

void response_stream(struct edge_request *http, h2o_generator_t *generator)
{
    /* Without chunks only the end of the connection marks the end of the body. */
    if (http->req->version != 0x101)
        http->req->http1_is_persistent = 0;
    edge_request_sending(http);
    h2o_start_response(http->req, generator);
}

/* -- the log --------------------------------------------------------------------------------- */

void response_log(const struct edge_request *http, int status, const struct log_field *own,
                  size_t n)
{
    struct log_field fields[5 + RESPONSE_LOG_OWN_MAX];
    char client[ADDRESS_TEXT];

    const struct edge_options *options = http->edge->options;

    if (status < 500 && !options->logs_all && !options->logs_access)
        return;
    must(n <= RESPONSE_LOG_OWN_MAX);
    address_format(&http->client, client);
    fields[0] = log_str("request_id", http->id);
    fields[1] = log_trace(str_of(http->traceparent));
    fields[2] = log_str("client", client);
    fields[3] = log_int("status", status);
    fields[4] = log_int("took_us", clock_mono_us() - http->started_us);
    memcpy(fields + 5, own, n * sizeof(*own));
    log_write(status >= 500          ? LOG_WARNING
              : options->logs_access ? LOG_INFO
                                     : LOG_DEBUG,
              "response", fields, 5 + n);
}
