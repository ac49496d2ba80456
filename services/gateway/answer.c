#include "services/gateway/answer.h"

#include <stdio.h>
#include <string.h>

#include "common/edge/reason.h"

#define NUMBER_ROOM 24

/* `name` is a literal in lower case, `shown` the same as it goes out. */
static void add(h2o_req_t *req, struct str name, const char *shown, const char *value, size_t n)
{
    h2o_add_header_by_str(&req->pool, &req->res.headers, name.p, name.n, 0, shown, value, n);
}

/* Three of them are in every answer, hence no printf(). */
static void add_number(h2o_req_t *req, struct str name, const char *shown, uint64_t value)
{
    char *text = h2o_mem_alloc_pool(&req->pool, NUMBER_ROOM);
    size_t at = NUMBER_ROOM;

    do {
        text[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    add(req, name, shown, text + at, NUMBER_ROOM - at);
}

static void add_headers(h2o_req_t *req, const struct answer *answer)
{
    h2o_headers_t *headers = &req->res.headers;

    h2o_vector_reserve(&req->pool, headers, 10);
    add(req, STR("content-type"), "Content-Type", H2O_STRLIT("application/json"));
    add(req, STR("cache-control"), "Cache-Control", H2O_STRLIT("no-store"));
    add(req, STR("x-service-request-id"), "X-Service-Request-Id", answer->request_id,
        strlen(answer->request_id));
    if (answer->view != NULL) {
        add_number(req, STR("x-ratelimit-limit"), "X-RateLimit-Limit", answer->view->limit);
        add_number(req, STR("x-ratelimit-remaining"), "X-RateLimit-Remaining",
                   answer->view->remaining);
        add_number(req, STR("x-ratelimit-reset"), "X-RateLimit-Reset",
                   (uint64_t)answer->view->reset_s);
    }
    if (answer->retry_after > 0)
        add_number(req, STR("retry-after"), "Retry-After", answer->retry_after);
    if (answer->replayed)
        add(req, STR("x-service-idempotent-replay"), "X-Service-Idempotent-Replay",
            H2O_STRLIT("true"));
    if (answer->allow != NULL)
        add(req, STR("allow"), "Allow", answer->allow, strlen(answer->allow));
    if (answer->status == 401)
        add(req, STR("www-authenticate"), "WWW-Authenticate", H2O_STRLIT("Bearer"));
}

static h2o_iovec_t iovec_of(struct str s)
{
    return h2o_iovec_init(s.p, s.n);
}

void answer_send(h2o_req_t *req, const struct answer *answer)
{
    static h2o_generator_t generator = {NULL, NULL};
    bool is_head = h2o_memis(req->input.method.base, req->input.method.len, H2O_STRLIT("HEAD"));
    h2o_iovec_t parts[5];
    size_t n = 0, length = 0;

    if (answer->status >= 400) {
        parts[n++] = iovec_of(STR("{\"type\":\"error.list\",\"request_id\":\""));
        parts[n++] = iovec_of(str_of(answer->request_id));
        parts[n++] = iovec_of(STR("\",\"errors\":"));
    }
    parts[n++] = iovec_of(answer->body);
    if (answer->status >= 400)
        parts[n++] = iovec_of(STR("}"));
    for (size_t i = 0; i < n; i++)
        length += parts[i].len;

    req->res.status = answer->status;
    req->res.reason = reason_of(answer->status);
    req->res.content_length = length;
    add_headers(req, answer);
    h2o_start_response(req, &generator);
    h2o_send(req, parts, is_head ? 0 : n, H2O_SEND_STATE_FINAL);
}

struct str answer_problem(h2o_mem_pool_t *pool, const char *code, const char *message)
{
    /* Both are literals of ours: nothing to escape. */
    static const char format[] = "[{\"code\":\"%s\",\"message\":\"%s\"}]";
    size_t room = sizeof(format) + strlen(code) + strlen(message);
    char *text = h2o_mem_alloc_pool(pool, room);
    int n = snprintf(text, room, format, code, message);

    return (struct str){text, (size_t)n};
}

const char *answer_message(enum outcome outcome)
{
    switch (outcome) {
    case OUTCOME_UNAUTHORIZED:
        return "The API key is missing, malformed, unknown, revoked or expired; send it as "
               "Authorization: Bearer KEY";
    case OUTCOME_API_PLAN_RESTRICTED:
        return "The organization's plan does not include the API; it takes the plan starter or "
               "above";
    case OUTCOME_INSUFFICIENT_SCOPE:
        return "The API key may only read; writing takes a key of scope full";
    case OUTCOME_LEGACY_KEY:
        return "Keys that begin with svc_test_ are no longer accepted; create a new key";
    case OUTCOME_IP_NOT_ALLOWED:
        return "The organization does not allow requests from this address; its owner or admin can "
               "add it to the allowlist";
    case OUTCOME_HTTPS_REQUIRED:
        return "The organization requires HTTPS, and this request came without";
    case OUTCOME_NOT_FOUND:
        return "There is no such resource";
    case OUTCOME_METHOD_NOT_ALLOWED:
        return "The resource does not take this method; see the Allow header";
    case OUTCOME_NOT_ACCEPTABLE:
        return "Accept must include application/json or */*";
    case OUTCOME_PAYLOAD_TOO_LARGE:
        return "The body is larger than 65536 bytes";
    case OUTCOME_UNSUPPORTED_MEDIA:
        return "Content-Type must be application/json";
    case OUTCOME_RATE_LIMITED:
        return "Too many requests; wait as long as the Retry-After header says";
    case OUTCOME_UNAVAILABLE:
    case OUTCOME_BUSY:
        return "The service is unavailable; nothing was written, try again";
    default:
        return "The request failed and may have been carried out; try again";
    }
}
