#include "services/dashboard/dashboard_response.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/http/response.h"
#include "services/dashboard/dashboard_metrics.h"

/* -- texts ----------------------------------------------------------------------------------- */

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
        return framing_message(FRAMING_BODY_TOO_LARGE);
    case OUTCOME_UNSUPPORTED_MEDIA:
        return "The body must be JSON in UTF-8, with Content-Type: application/json and without "
               "Content-Encoding";
    case OUTCOME_RATE_LIMITED:
        return "Too many requests at once; nothing was changed";
    case OUTCOME_UNAVAILABLE:
    case OUTCOME_BUSY:
        return "The service is unavailable and nothing was changed; try again";
    default:
        return "The request failed and may have been carried out; check before you try again";
    }
}

/* -- common headers -------------------------------------------------------------------------- */

/* In every response. */
static const struct response_header always[] = {
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

static const struct response_form form = {.always = always, .n_always = ARRAY_SIZE(always)};

/* Logs the path, which holds ids but no secrets. */
static void log_response(const struct edge_request *http, int status)
{
    struct str path = {http->req->input.path.base, http->req->input.path.len};
    const struct log_field own = log_slice("path", str_cut(&path, '?'));

    response_log(http, status, &own, 1);
}

static void begin(struct edge_request *http, int status, const char *type, const char *caching)
{
    response_begin(http, &form, status, type, caching);
    if (http->is_https)
        response_add(http, STR("strict-transport-security"), NULL, STR("max-age=63072000"));
    dashboard_metrics_response(http, status);
    log_response(http, status);
    edge_request_end_span(http, status);
}

/* -- data ------------------------------------------------------------------------------------ */

void dashboard_response_send(struct edge_request *http, const struct dashboard_response *response)
{
    begin(http, response->status, "application/json", "no-store");
    if (response->allow != NULL)
        response_add(http, STR("allow"), NULL, str_of(response->allow));
    if (response->cookie != NULL)
        response_add(http, STR("set-cookie"), NULL, str_of(response->cookie));
    if (response->retry_after.n > 0)
        response_add(http, STR("retry-after"), NULL, response->retry_after);
    if (response->forgets)
        response_add(http, STR("clear-site-data"), NULL, STR("\"cache\", \"storage\""));
    response_send(http, response->body);
}

void dashboard_response_text(struct edge_request *http, char *text, const char *cookie)
{
    const h2o_iovec_t copy = h2o_strdup(&http->req->pool, text, strlen(text));

    free(text);
    dashboard_response_send(http, &(struct dashboard_response){.status = 200,
                                                               .body = {copy.base, copy.len},
                                                               .cookie = cookie});
}

/* An error with the given message, or the outcome's, and the headers of `response`. `field` may be
   NULL. */
static void refuse(struct edge_request *http, enum outcome outcome, const char *message,
                   const char *field, struct dashboard_response response)
{
    if (response.status == 0)
        response.status = outcome_http_status(outcome);
    response.body =
        response_error(http, outcome, message != NULL ? message : message_of(outcome), field);
    dashboard_response_send(http, &response);
}

void dashboard_response_refusal(struct edge_request *http, enum outcome outcome,
                                const char *message)
{
    refuse(http, outcome, message, NULL, (struct dashboard_response){.status = 0});
}

void dashboard_response_invalid(struct edge_request *http, const char *field, const char *message)
{
    refuse(http, OUTCOME_PARAMETER_INVALID, message, field,
           (struct dashboard_response){.status = 0});
}

void dashboard_response_no_method(struct edge_request *http, const char *allow)
{
    refuse(http, OUTCOME_METHOD_NOT_ALLOWED, NULL, NULL,
           (struct dashboard_response){.allow = allow});
}

void dashboard_response_too_many(struct edge_request *http, unsigned wait_s)
{
    refuse(http, OUTCOME_RATE_LIMITED, NULL, NULL,
           (struct dashboard_response){.retry_after = response_number(http, wait_s)});
}

void dashboard_response_fault(struct edge_request *http)
{
    refuse(http,
           http->fault == FRAMING_BODY_TOO_LARGE ? OUTCOME_PAYLOAD_TOO_LARGE
                                                 : OUTCOME_PARAMETER_INVALID,
           framing_message(http->fault), NULL,
           (struct dashboard_response){.status = framing_status(http->fault)});
}

/* -- files ----------------------------------------------------------------------------------- */

/* Browsers cache files, but revalidate them on each use. */
void dashboard_response_asset(struct edge_request *http, const struct asset *asset,
                              struct str accept_encoding, struct str if_none_match)
{
    bool is_packed = asset_may_be_packed(accept_encoding);
    const struct asset_form *sent = is_packed ? &asset->packed : &asset->plain;
    bool is_known = asset_is_known(sent, if_none_match);

    begin(http, is_known ? 304 : 200, is_known ? NULL : asset->type, "no-cache");
    response_add(http, STR("etag"), NULL, str_of(sent->etag));
    response_add(http, STR("vary"), NULL, STR("accept-encoding"));
    if (is_packed && !is_known)
        response_add(http, STR("content-encoding"), NULL, STR("gzip"));
    response_send_file(http, is_known ? STR_NONE : sent->bytes);
}

/* -- streams --------------------------------------------------------------------------------- */

void dashboard_response_stream(struct edge_request *http, const char *type, const char *file,
                               h2o_generator_t *generator)
{
    begin(http, 200, type, "no-store");
    response_add(http, STR("content-disposition"), NULL,
                 str_of(arena_printf(&http->arena, "attachment; filename=\"%s\"", file)));
    response_stream(http, generator);
}
