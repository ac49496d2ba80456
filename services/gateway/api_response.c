#include "services/gateway/api_request.h"

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/http/response.h"
#include "proto/headers.h"
#include "services/gateway/gateway_metrics.h"
#include "services/gateway/key_cache.h"
#include "services/gateway/key_usage.h"

/* Most causes of a 503 are over within a second: a restarting program, a full mailbox. */
enum { UNAVAILABLE_WAIT_S = 1 };

/* -- the body -------------------------------------------------------------------------------- */

/* The message for an outcome that the gateway decides. */
static const char *message_for(enum outcome outcome)
{
    switch (outcome) {
    case OUTCOME_UNAUTHORIZED:
        return "The API key is unknown, revoked or expired";
    case OUTCOME_API_PLAN_RESTRICTED:
        return "The organization's plan does not include the API; the plan starter or above is "
               "required";
    case OUTCOME_INSUFFICIENT_SCOPE:
        return "The API key is read-only; writing requires a key with scope full";
    case OUTCOME_LEGACY_KEY:
        return "Keys that begin with svc_test_ are no longer accepted; create a new key";
    case OUTCOME_HTTPS_REQUIRED:
        return "The organization requires HTTPS; this request did not use it";
    case OUTCOME_NOT_FOUND:
        return "There is no such resource";
    case OUTCOME_METHOD_NOT_ALLOWED:
        return "The resource does not support this method; see the Allow header";
    case OUTCOME_NOT_ACCEPTABLE:
        return "Accept must include application/json or */*";
    case OUTCOME_PAYLOAD_TOO_LARGE:
        return framing_message(FRAMING_BODY_TOO_LARGE);
    case OUTCOME_RATE_LIMITED:
        return "Too many requests with this API key; wait for the time given in the Retry-After "
               "header";
    case OUTCOME_UNAVAILABLE:
    case OUTCOME_BUSY:
        return "The service is unavailable and nothing was written; try again";
    default:
        return "The request failed and may have been carried out; try again";
    }
}

/* The outcome's message, or a more specific one. */
static const char *message_of(struct api_request *request)
{
    char client[ADDRESS_TEXT];

    if (api_request_is_unsound(request))
        return framing_message(request->http.fault);
    if (request->message != NULL)
        return request->message;
    if (request->outcome == OUTCOME_RATE_LIMITED && request->has_view && !request->view.is_of_key)
        return "Too many requests with all API keys of the organization; wait for the time given "
               "in the Retry-After header";
    if (request->outcome != OUTCOME_IP_NOT_ALLOWED)
        return message_for(request->outcome);
    address_format(&request->http.client, client);
    return arena_printf(&request->http.arena,
                        "The organization does not allow requests from %s; its owner or admin can "
                        "add it to the allowlist",
                        client);
}

static struct str body_of(struct api_request *request)
{
    if (request->body.n > 0)
        return request->body;
    return response_error(&request->http, request->outcome, message_of(request), NULL);
}

/* -- status and headers ---------------------------------------------------------------------- */

static int status_of(const struct api_request *request)
{
    return api_request_is_unsound(request) ? framing_status(request->http.fault)
                                           : outcome_http_status(request->outcome);
}

/* Seconds until the window ends, at least 1. */
static unsigned window_left_s(const struct api_request *request)
{
    int64_t left_s = request->view.reset_s - clock_us() / 1000000;

    return left_s > 1 ? (unsigned)left_s : 1;
}

/* Seconds for Retry-After; 0: none. */
static unsigned wait_of(const struct api_request *request, int status)
{
    if (request->outcome == OUTCOME_RATE_LIMITED && request->has_view)
        return window_left_s(request);
    return status == 503 ? UNAVAILABLE_WAIT_S : request->retry_after;
}

/* Checked, since it becomes part of a header. */
static struct str created_of(const struct api_request *request)
{
    struct uuid id;
    const struct str text = request->outcome == OUTCOME_CREATED
                                ? bus_message_header(request->reply, HEADER_RESOURCE)
                                : STR_NONE;

    return uuid_parse(text, &id) ? text : STR_NONE;
}

static void add_view(struct edge_request *http, const struct quota_view *view)
{
    response_add_number(http, STR("x-ratelimit-limit"), "X-RateLimit-Limit", view->limit);
    response_add_number(http, STR("x-ratelimit-remaining"), "X-RateLimit-Remaining",
                        view->remaining);
    response_add_number(http, STR("x-ratelimit-reset"), "X-RateLimit-Reset",
                        (uint64_t)view->reset_s);
}

static void add_headers(struct api_request *request, int status)
{
    struct edge_request *http = &request->http;
    const unsigned wait_s = wait_of(request, status);
    const struct str created = created_of(request);

    if (request->has_view)
        add_view(http, &request->view);
    if (wait_s > 0)
        response_add_number(http, STR("retry-after"), "Retry-After", wait_s);
    if (request->outcome == OUTCOME_REPLAYED)
        response_add(http, STR("x-service-idempotent-replay"), "X-Service-Idempotent-Replay",
                     STR("true"));
    if (created.p != NULL)
        response_add(
            http, STR("location"), "Location",
            str_of(arena_printf(&http->arena, "/api/v1/conversations/%.*s", STR_ARG(created))));
    if (request->outcome == OUTCOME_METHOD_NOT_ALLOWED && request->route.allow != NULL)
        response_add(http, STR("allow"), "Allow", str_of(request->route.allow));
    if (status == 401)
        response_add(http, STR("www-authenticate"), "WWW-Authenticate", STR("Bearer"));
}

/* -- the response ---------------------------------------------------------------------------- */

static void log_response(const struct api_request *request, int status)
{
    const struct log_field own[] = {
        log_str("operation", operation_name(request->route.operation)),
        log_str("outcome", outcome_name(request->outcome)),
        log_str("organization_id",
                request->key != NULL ? request->key->record.organization_id : NULL),
    };
    const struct edge_options *options = request->http.edge->options;
    /* Refused on arrival because of overload: counted, not logged one by one. */
    const bool is_shed = request->outcome == OUTCOME_BUSY && !request->has_view;

    if (!is_shed || options->logs_all || options->logs_access)
        response_log(&request->http, status, own, ARRAY_SIZE(own));
}

static void end_span(struct api_request *request, int status)
{
    struct span *span = &request->http.span;

    if (!span->context.is_sampled)
        return;
    span->name =
        request->route.operation != OP_NONE ? operation_name(request->route.operation) : "outside";
    span->outcome = outcome_name(request->outcome);
    if (request->key != NULL)
        (void)uuid_parse(str_of(request->key->record.organization_id), &span->organization_id);
    edge_request_end_span(&request->http, status);
}

void api_response_run(struct api_request *request)
{
    static const struct response_form form = {.is_capitalized = true};
    const int64_t took_us = clock_mono_us() - request->http.started_us;
    const int status = status_of(request);

    gateway_metrics_count(request->route.operation, status, took_us);
    log_response(request, status);
    end_span(request, status);
    if (request->has_view)
        key_usage_count(request->gateway, request->key, status, took_us);
    response_begin(&request->http, &form, status, "application/json", "no-store");
    add_headers(request, status);
    response_send(&request->http, body_of(request));
}
