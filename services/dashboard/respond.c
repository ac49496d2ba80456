#include "services/dashboard/respond.h"

#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/edge/program.h"
#include "common/edge/reason.h"
#include "services/dashboard/dashboard_meter.h"

static const char *message_of(enum outcome outcome)
{
    switch (outcome) {
    case OUTCOME_UNAUTHORIZED:
        return "Sign in first";
    case OUTCOME_FORBIDDEN_ORIGIN:
        return "The request does not come from the dashboard's own pages";
    case OUTCOME_INVALID_CSRF_TOKEN:
        return "The X-CSRF-Token header is missing or not that of this session";
    case OUTCOME_INSUFFICIENT_ROLE:
        return "Your role in the organization does not include this";
    case OUTCOME_NOT_FOUND:
        return "There is no such resource";
    case OUTCOME_METHOD_NOT_ALLOWED:
        return "The resource does not take this method; see the Allow header";
    case OUTCOME_PAYLOAD_TOO_LARGE:
        return "The body is larger than 65536 bytes";
    case OUTCOME_UNSUPPORTED_MEDIA:
        return "Content-Type must be application/json";
    case OUTCOME_UNAVAILABLE:
    case OUTCOME_BUSY:
        return "The service is unavailable; nothing was changed, try again";
    default:
        return "The request failed and may have been carried out; look before you try again";
    }
}

/* -- headers --------------------------------------------------------------------------------- */

/* `name` is in lower case. */
static void add(struct visit *visit, const char *name, struct str value)
{
    h2o_req_t *req = visit->req;

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
static void log_response(const struct visit *visit, int status)
{
    struct str path = {visit->req->input.path.base, visit->req->input.path.len};
    char client[ADDRESS_TEXT];

    if (status < 500 && !program_facts.logs_all)
        return;
    address_format(&visit->client, client);
    LOG(status >= 500 ? LOG_WARNING : LOG_DEBUG, "answer", log_str("request_id", visit->id),
        log_trace(str_of(visit->traceparent)), log_slice("path", str_cut(&path, '?')),
        log_int("status", status), log_int("took_us", clock_mono_us() - visit->started_us),
        log_str("client", client));
}

/* What every response has, whatever it is. */
static void begin(struct visit *visit, int status, const char *type, const char *caching)
{
    h2o_req_t *req = visit->req;

    req->res.status = status;
    req->res.reason = reason_of(status);
    h2o_vector_reserve(&req->pool, &req->res.headers, 18);
    if (type != NULL)
        add(visit, "content-type", str_of(type));
    add(visit, "cache-control", str_of(caching));
    add(visit, "x-service-request-id", str_of(visit->id));
    for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
        add(visit, always[i].name, str_of(always[i].value));
    if (visit->is_https)
        add(visit, "strict-transport-security", STR("max-age=63072000"));
    dashboard_meter_response(visit, status);
    log_response(visit, status);
    visit_end_span(visit, status);
    visit_sending(visit);
}

/* -- bodies ---------------------------------------------------------------------------------- */

static h2o_iovec_t iovec_of(struct str s)
{
    return h2o_iovec_init(s.p, s.n);
}

static void send_parts(struct visit *visit, h2o_iovec_t *parts, size_t n)
{
    static h2o_generator_t generator = {NULL, NULL};
    h2o_req_t *req = visit->req;
    bool is_head = h2o_memis(req->input.method.base, req->input.method.len, H2O_STRLIT("HEAD"));

    req->res.content_length = 0;
    for (size_t i = 0; i < n; i++)
        req->res.content_length += parts[i].len;
    h2o_start_response(req, &generator);
    h2o_send(req, parts, is_head ? 0 : n, H2O_SEND_STATE_FINAL);
}

void respond(struct visit *visit, const struct response *response)
{
    h2o_iovec_t parts[5];
    size_t n = 0;

    begin(visit, response->status, "application/json", "no-store");
    if (response->allow != NULL)
        add(visit, "allow", str_of(response->allow));
    if (response->cookie != NULL)
        add(visit, "set-cookie", str_of(response->cookie));
    if (response->retry_after.n > 0)
        add(visit, "retry-after", response->retry_after);
    if (response->forgets)
        add(visit, "clear-site-data", STR("\"cache\", \"storage\""));
    if (response->status >= 400) {
        parts[n++] = iovec_of(STR("{\"type\":\"error.list\",\"request_id\":\""));
        parts[n++] = iovec_of(str_of(visit->id));
        parts[n++] = iovec_of(STR("\",\"errors\":"));
    }
    parts[n++] = iovec_of(response->body);
    if (response->status >= 400)
        parts[n++] = iovec_of(STR("}"));
    send_parts(visit, parts, n);
}

/* None of the texts needs escaping. `field` may be NULL. */
static struct str problem(struct visit *visit, const char *code, const char *message,
                          const char *field)
{
    static const char format[] = "[{\"code\":\"%s\",\"message\":\"%s\"%s%s%s}]";
    size_t room = sizeof(format) + strlen(code) + strlen(message) + 80;
    char *text = h2o_mem_alloc_pool(&visit->req->pool, room);
    int n = snprintf(text, room, format, code, message, field != NULL ? ",\"field\":\"" : "",
                     field != NULL ? field : "", field != NULL ? "\"" : "");

    must(n > 0 && (size_t)n < room);
    return (struct str){text, (size_t)n};
}

void respond_refusal(struct visit *visit, enum outcome outcome, const char *message)
{
    respond(visit, &(struct response){
                       .status = outcome_http_status(outcome),
                       .body = problem(visit, outcome_code(outcome),
                                       message != NULL ? message : message_of(outcome), NULL)});
}

void respond_invalid(struct visit *visit, const char *field, const char *message)
{
    enum outcome outcome = OUTCOME_PARAMETER_INVALID;

    respond(visit,
            &(struct response){.status = outcome_http_status(outcome),
                               .body = problem(visit, outcome_code(outcome), message, field)});
}

void respond_no_method(struct visit *visit, const char *allow)
{
    enum outcome outcome = OUTCOME_METHOD_NOT_ALLOWED;

    respond(visit, &(struct response){
                       .status = outcome_http_status(outcome),
                       .body = problem(visit, outcome_code(outcome), message_of(outcome), NULL),
                       .allow = allow});
}

void respond_fault(struct visit *visit)
{
    enum outcome outcome = visit->fault == FRAMING_BODY_TOO_LARGE ? OUTCOME_PAYLOAD_TOO_LARGE
                                                                  : OUTCOME_PARAMETER_INVALID;

    respond(visit, &(struct response){.status = framing_status(visit->fault),
                                      .body = problem(visit, outcome_code(outcome),
                                                      framing_message(visit->fault), NULL)});
}

/* -- files ----------------------------------------------------------------------------------- */

/* Browsers keep files, but ask each time whether they are still the same. */
void respond_asset(struct visit *visit, const struct asset *asset, struct str accept_encoding,
                   struct str if_none_match)
{
    bool is_packed = asset_may_be_packed(accept_encoding);
    const struct asset_form *form = is_packed ? &asset->packed : &asset->plain;
    bool is_known = asset_is_known(form, if_none_match);
    h2o_iovec_t body = iovec_of(form->bytes);

    begin(visit, is_known ? 304 : 200, is_known ? NULL : asset->type, "no-cache");
    add(visit, "etag", str_of(form->etag));
    add(visit, "vary", STR("accept-encoding"));
    if (is_known) {
        static h2o_generator_t generator = {NULL, NULL};

        h2o_start_response(visit->req, &generator);
        h2o_send(visit->req, NULL, 0, H2O_SEND_STATE_FINAL);
        return;
    }
    if (is_packed)
        add(visit, "content-encoding", STR("gzip"));
    send_parts(visit, &body, 1);
}

/* -- streams --------------------------------------------------------------------------------- */

void respond_stream(struct visit *visit, const char *type, const char *file,
                    h2o_generator_t *generator)
{
    h2o_req_t *req = visit->req;
    size_t room = strlen(file) + 32;
    char *disposition = h2o_mem_alloc_pool(&req->pool, room);

    begin(visit, 200, type, "no-store");
    snprintf(disposition, room, "attachment; filename=\"%s\"", file);
    add(visit, "content-disposition", str_of(disposition));
    /* Without chunks only the end of the connection says where it ends. */
    if (req->version != 0x101)
        req->http1_is_persistent = 0;
    h2o_start_response(req, generator);
}
