#include "services/gateway/api_response.h"

static const struct response_form form = {.is_capitalized = true};

void api_response_send(struct edge_request *http, const struct api_response *response)
{
    response_begin(http, &form, response->status, "application/json", "no-store");
    if (response->view != NULL) {
        response_add_number(http, STR("x-ratelimit-limit"), "X-RateLimit-Limit",
                            response->view->limit);
        response_add_number(http, STR("x-ratelimit-remaining"), "X-RateLimit-Remaining",
                            response->view->remaining);
        response_add_number(http, STR("x-ratelimit-reset"), "X-RateLimit-Reset",
                            (uint64_t)response->view->reset_s);
    }
    if (response->retry_after > 0)
        response_add_number(http, STR("retry-after"), "Retry-After", response->retry_after);
    if (response->replayed)
        response_add(http, STR("x-service-idempotent-replay"), "X-Service-Idempotent-Replay",
                     STR("true"));
    if (response->created.p != NULL)
        response_add(http, STR("location"), "Location",
                     str_of(arena_printf(&http->arena, "/api/v1/conversations/%.*s",
                                         STR_ARG(response->created))));
    if (response->allow != NULL)
        response_add(http, STR("allow"), "Allow", str_of(response->allow));
    if (response->status == 401)
        response_add(http, STR("www-authenticate"), "WWW-Authenticate", STR("Bearer"));
    response_send(http, response->body);
}

const char *api_response_message(enum outcome outcome)
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
