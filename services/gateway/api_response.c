#include "services/gateway/api_response.h"

#include <stdio.h>
#include <string.h>

#include "common/http/response.h"

#define NUMBER_CAPACITY 24

/* `name` is a literal in lower case, `shown` the same as it goes out. */
static void add(h2o_req_t *req, struct str name, const char *shown, const char *value, size_t n)
{
    h2o_add_header_by_str(&req->pool, &req->res.headers, name.p, name.n, 0, shown, value, n);
}

/* Three of them are in every response, hence no printf(). */
static void add_number(h2o_req_t *req, struct str name, const char *shown, uint64_t value)
{
    char *text = h2o_mem_alloc_pool(&req->pool, NUMBER_CAPACITY);
    size_t at = NUMBER_CAPACITY;

    do {
        text[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    add(req, name, shown, text + at, NUMBER_CAPACITY - at);
}

static void add_headers(h2o_req_t *req, const struct api_response *response)
{
    h2o_headers_t *headers = &req->res.headers;

    h2o_vector_reserve(&req->pool, headers, 10);
    add(req, STR("content-type"), "Content-Type", H2O_STRLIT("application/json"));
    add(req, STR("cache-control"), "Cache-Control", H2O_STRLIT("no-store"));
    add(req, STR("x-service-request-id"), "X-Service-Request-Id", response->request_id,
        strlen(response->request_id));
    if (response->view != NULL) {
        add_number(req, STR("x-ratelimit-limit"), "X-RateLimit-Limit", response->view->limit);
        add_number(req, STR("x-ratelimit-remaining"), "X-RateLimit-Remaining",
                   response->view->remaining);
        add_number(req, STR("x-ratelimit-reset"), "X-RateLimit-Reset",
                   (uint64_t)response->view->reset_s);
    }
    if (response->retry_after > 0)
        add_number(req, STR("retry-after"), "Retry-After", response->retry_after);
    if (response->replayed)
        add(req, STR("x-service-idempotent-replay"), "X-Service-Idempotent-Replay",
            H2O_STRLIT("true"));
    if (response->allow != NULL)
        add(req, STR("allow"), "Allow", response->allow, strlen(response->allow));
    if (response->status == 401)
        add(req, STR("www-authenticate"), "WWW-Authenticate", H2O_STRLIT("Bearer"));
}

static h2o_iovec_t iovec_of(struct str s)
{
    return h2o_iovec_init(s.p, s.n);
}

void api_response_send(h2o_req_t *req, const struct api_response *response)
{
    static h2o_generator_t generator = {NULL, NULL};
    bool is_head = h2o_memis(req->input.method.base, req->input.method.len, H2O_STRLIT("HEAD"));
    h2o_iovec_t parts[5];
    size_t n = 0, length = 0;

    if (response->status >= 400) {
        parts[n++] = iovec_of(STR("{\"type\":\"error.list\",\"request_id\":\""));
        parts[n++] = iovec_of(str_of(response->request_id));
        parts[n++] = iovec_of(STR("\",\"errors\":"));
    }
    parts[n++] = iovec_of(response->body);
    if (response->status >= 400)
        parts[n++] = iovec_of(STR("}"));
    for (size_t i = 0; i < n; i++)
        length += parts[i].len;

    req->res.status = response->status;
    req->res.reason = reason_of(response->status);
    req->res.content_length = length;
    add_headers(req, response);
    h2o_start_response(req, &generator);
    h2o_send(req, parts, is_head ? 0 : n, H2O_SEND_STATE_FINAL);
}

struct str api_response_error(h2o_mem_pool_t *pool, const char *code, const char *message)
{
    /* Both are literals of ours: nothing to escape. */
    static const char format[] = "[{\"code\":\"%s\",\"message\":\"%s\"}]";
    size_t capacity = sizeof(format) + strlen(code) + strlen(message);
    char *text = h2o_mem_alloc_pool(pool, capacity);
    int n = snprintf(text, capacity, format, code, message);

    return (struct str){text, (size_t)n};
}

const char *api_response_message(enum outcome outcome)
{
    switch (outcome) {
    case OUTCOME_UNAUTHORIZED:
        return "The API key is missing, malformed, unknown, revoked or expired; send it as "
               "Authorization: Bearer KEY";
    case OUTCOME_API_PLAN_RESTRICTED:
        return "The organization's plan does not include the API; the plan starter or above is "
               "required";
    case OUTCOME_INSUFFICIENT_SCOPE:
        return "The API key is read-only; writing requires a key with scope full";
    case OUTCOME_LEGACY_KEY:
        return "Keys that begin with svc_test_ are no longer accepted; create a new key";
    case OUTCOME_IP_NOT_ALLOWED:
        return "The organization does not allow requests from this address; its owner or admin can "
               "add it to the allowlist";
    case OUTCOME_HTTPS_REQUIRED:
        return "The organization requires HTTPS; this request did not use it";
    case OUTCOME_NOT_FOUND:
        return "There is no such resource";
    case OUTCOME_METHOD_NOT_ALLOWED:
        return "The resource does not support this method; see the Allow header";
    case OUTCOME_NOT_ACCEPTABLE:
        return "Accept must include application/json or */*";
    case OUTCOME_PAYLOAD_TOO_LARGE:
        return "The body is larger than 65536 bytes";
    case OUTCOME_UNSUPPORTED_MEDIA:
        return "Content-Type must be application/json";
    case OUTCOME_RATE_LIMITED:
        return "Too many requests; wait for the time given in the Retry-After header";
    case OUTCOME_UNAVAILABLE:
    case OUTCOME_BUSY:
        return "The service is unavailable and nothing was written; try again";
    default:
        return "The request failed and may have been carried out; try again";
    }
}
