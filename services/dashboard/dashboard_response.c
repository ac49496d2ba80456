#include "services/dashboard/dashboard_response.h"

#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/http/response.h"
#include "services/dashboard/dashboard_metrics.h"

static const char *message_of(enum outcome outcome)
{
    switch (outcome) {
    case OUTCOME_UNAUTHORIZED:
        return "Sign in first";
    case OUTCOME_FORBIDDEN_ORIGIN:
        return "The request does not come from the dashboard's own pages";
    case OUTCOME_INVALID_CSRF_TOKEN:
        return "The X-CSRF-Token header is missing or does not match this session";
    case OUTCOME_INSUFFICIENT_ROLE:
        return "Your role in the organization does not include this";
    case OUTCOME_NOT_FOUND:
        return "There is no such resource";
    case OUTCOME_METHOD_NOT_ALLOWED:
        return "The resource does not support this method; see the Allow header";
    case OUTCOME_PAYLOAD_TOO_LARGE:
        return "The body is larger than 65536 bytes";
    case OUTCOME_UNSUPPORTED_MEDIA:
        return "Content-Type must be application/json";
    case OUTCOME_RATE_LIMITED:
        return "Too many requests at once; nothing was changed";
    case OUTCOME_UNAVAILABLE:
    case OUTCOME_BUSY:
        return "The service is unavailable and nothing was changed; try again";
    default:
        return "The request failed and may have been carried out; check before you try again";
    }
}

/* -- headers --------------------------------------------------------------------------------- */

/* `name` is in lower case. */
static void add(struct edge_request *http, const char *name, struct str value)
{
    h2o_req_t *req = http->req;

    h2o_add_header_by_str(&req->pool, &req->res.headers, name, strlen(name), 0, NULL, value.p,
                          value.n);
}

/* In every response. */
static const struct {
    const char *name, *value;
} always[] = {
    {"content-security-policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
     "img-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; "
     "frame-ancestors 'none'; require-trusted-types-for 'script'"},
    {"x-content-type-options", "nosniff"},
    {"x-frame-options", "DENY"},
    {"referrer-policy", "no-referrer"},
    {"cross-origin-opener-policy", "same-origin"},
    {"cross-origin-resource-policy", "same-origin"},
    {"permissions-policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"},
};

/* Failures are worth a line; a path holds ids and no secrets. */
static void log_response(const struct edge_request *http, int status)
{
    struct str path = {http->req->input.path.base, http->req->input.path.len};
    char client[ADDRESS_TEXT];

    if (status < 500 && !http->edge->options->logs_all)
        return;
    address_format(&http->client, client);
    LOG(status >= 500 ? LOG_WARNING : LOG_DEBUG, "answer", log_str("request_id", http->id),
        log_trace(str_of(http->traceparent)), log_slice("path", str_cut(&path, '?')),
        log_int("status", status), log_int("took_us", clock_mono_us() - http->started_us),
        log_str("client", client));
}

/* What every response has, whatever it is. */
static void begin(struct edge_request *http, int status, const char *type, const char *caching)
{
    h2o_req_t *req = http->req;

    req->res.status = status;
    req->res.reason = reason_of(status);
    h2o_vector_reserve(&req->pool, &req->res.headers, 18);
    if (type != NULL)
        add(http, "content-type", str_of(type));
    add(http, "cache-control", str_of(caching));
    add(http, "x-service-request-id", str_of(http->id));
    for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
        add(http, always[i].name, str_of(always[i].value));
    if (http->is_https)
        add(http, "strict-transport-security", STR("max-age=63072000"));
    dashboard_metrics_response(http, status);
    log_response(http, status);
    edge_request_end_span(http, status);
    edge_request_sending(http);
}

/* -- bodies ---------------------------------------------------------------------------------- */

static h2o_iovec_t iovec_of(struct str s)
{
    return h2o_iovec_init(s.p, s.n);
}

static void send_parts(struct edge_request *http, h2o_iovec_t *parts, size_t n)
{
    static h2o_generator_t generator = {NULL, NULL};
    h2o_req_t *req = http->req;
    bool is_head = h2o_memis(req->input.method.base, req->input.method.len, H2O_STRLIT("HEAD"));

    req->res.content_length = 0;
    for (size_t i = 0; i < n; i++)
        req->res.content_length += parts[i].len;
    edge_request_sending_whole(http, is_head ? 0 : req->res.content_length);
    h2o_start_response(req, &generator);
    h2o_send(req, parts, is_head ? 0 : n, H2O_SEND_STATE_FINAL);
}

void dashboard_response_send(struct edge_request *http, const struct dashboard_response *response)
{
    h2o_iovec_t parts[5];
    size_t n = 0;

    begin(http, response->status, "application/json", "no-store");
    if (response->allow != NULL)
        add(http, "allow", str_of(response->allow));
    if (response->cookie != NULL)
        add(http, "set-cookie", str_of(response->cookie));
    if (response->retry_after.n > 0)
        add(http, "retry-after", response->retry_after);
    if (response->forgets)
        add(http, "clear-site-data", STR("\"cache\", \"storage\""));
    if (response->status >= 400) {
        parts[n++] = iovec_of(STR("{\"type\":\"error.list\",\"request_id\":\""));
        parts[n++] = iovec_of(str_of(http->id));
        parts[n++] = iovec_of(STR("\",\"errors\":"));
    }
    parts[n++] = iovec_of(response->body);
    if (response->status >= 400)
        parts[n++] = iovec_of(STR("}"));
    send_parts(http, parts, n);
}

/* None of the texts needs escaping. `field` may be NULL. */
static struct str problem(struct edge_request *http, const char *code, const char *message,
                          const char *field)
{
    static const char format[] = "[{\"code\":\"%s\",\"message\":\"%s\"%s%s%s}]";
    size_t capacity = sizeof(format) + strlen(code) + strlen(message) + 80;
    char *text = h2o_mem_alloc_pool(&http->req->pool, capacity);
    int n = snprintf(text, capacity, format, code, message, field != NULL ? ",\"field\":\"" : "",
                     field != NULL ? field : "", field != NULL ? "\"" : "");

    must(n > 0 && (size_t)n < capacity);
    return (struct str){text, (size_t)n};
}

void dashboard_response_refusal(struct edge_request *http, enum outcome outcome,
                                const char *message)
{
    dashboard_response_send(
        http, &(struct dashboard_response){
                  .status = outcome_http_status(outcome),
                  .body = problem(http, outcome_code(outcome),
                                  message != NULL ? message : message_of(outcome), NULL)});
}

void dashboard_response_invalid(struct edge_request *http, const char *field, const char *message)
{
    enum outcome outcome = OUTCOME_PARAMETER_INVALID;

    dashboard_response_send(
        http,
        &(struct dashboard_response){.status = outcome_http_status(outcome),
                                     .body = problem(http, outcome_code(outcome), message, field)});
}

void dashboard_response_no_method(struct edge_request *http, const char *allow)
{
    enum outcome outcome = OUTCOME_METHOD_NOT_ALLOWED;

    dashboard_response_send(
        http, &(struct dashboard_response){
                  .status = outcome_http_status(outcome),
                  .body = problem(http, outcome_code(outcome), message_of(outcome), NULL),
                  .allow = allow});
}

void dashboard_response_too_many(struct edge_request *http, unsigned wait_s)
{
    enum outcome outcome = OUTCOME_RATE_LIMITED;
    char *wait = h2o_mem_alloc_pool(&http->req->pool, 12);
    int n = snprintf(wait, 12, "%u", wait_s);

    dashboard_response_send(
        http, &(struct dashboard_response){
                  .status = outcome_http_status(outcome),
                  .body = problem(http, outcome_code(outcome), message_of(outcome), NULL),
                  .retry_after = {wait, (size_t)n}});
}

void dashboard_response_fault(struct edge_request *http)
{
    enum outcome outcome = http->fault == FRAMING_BODY_TOO_LARGE ? OUTCOME_PAYLOAD_TOO_LARGE
                                                                 : OUTCOME_PARAMETER_INVALID;

    dashboard_response_send(
        http, &(struct dashboard_response){.status = framing_status(http->fault),
                                           .body = problem(http, outcome_code(outcome),
                                                           framing_message(http->fault), NULL)});
}

/* -- files ----------------------------------------------------------------------------------- */

/* Browsers keep files, but ask each time whether they are still the same. */
void dashboard_response_asset(struct edge_request *http, const struct asset *asset,
                              struct str accept_encoding, struct str if_none_match)
{
    bool is_packed = asset_may_be_packed(accept_encoding);
    const struct asset_form *form = is_packed ? &asset->packed : &asset->plain;
    bool is_known = asset_is_known(form, if_none_match);
    h2o_iovec_t body = iovec_of(form->bytes);

    begin(http, is_known ? 304 : 200, is_known ? NULL : asset->type, "no-cache");
    add(http, "etag", str_of(form->etag));
    add(http, "vary", STR("accept-encoding"));
    if (is_known) {
        static h2o_generator_t generator = {NULL, NULL};

        h2o_start_response(http->req, &generator);
        h2o_send(http->req, NULL, 0, H2O_SEND_STATE_FINAL);
        return;
    }
    if (is_packed)
        add(http, "content-encoding", STR("gzip"));
    send_parts(http, &body, 1);
}

/* -- streams --------------------------------------------------------------------------------- */

void dashboard_response_stream(struct edge_request *http, const char *type, const char *file,
                               h2o_generator_t *generator)
{
    h2o_req_t *req = http->req;
    size_t capacity = strlen(file) + 32;
    char *disposition = h2o_mem_alloc_pool(&req->pool, capacity);

    begin(http, 200, type, "no-store");
    snprintf(disposition, capacity, "attachment; filename=\"%s\"", file);
    add(http, "content-disposition", str_of(disposition));
    /* Without chunks only the end of the connection says where it ends. */
    if (req->version != 0x101)
        req->http1_is_persistent = 0;
    h2o_start_response(req, generator);
}
