#include "services/dashboard/backend.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "proto/headers.h"
#include "services/dashboard/dashboard_request.h"
#include "services/dashboard/dashboard_response.h"

/* -- what the dashboard adds to a body ------------------------------------------------------- */

#define USER_AGENT_MAX 255 /* as access keeps it */

/* The User-Agent as plain text. */
static json_t *user_agent_of(const struct dashboard_request *request)
{
    struct str given = request->headers.user_agent.value;
    char text[USER_AGENT_MAX];
    size_t n = given.n < sizeof(text) ? given.n : sizeof(text);

    for (size_t i = 0; i < n; i++)
        text[i] = given.p[i] >= ' ' && given.p[i] <= '~' ? given.p[i] : '?';
    return json_stringn(text, n);
}

static json_t *address_of_client(const struct dashboard_request *request)
{
    char text[ADDRESS_TEXT];

    address_format(&request->http.client, text);
    return json_string(text);
}

static json_t *id_in_path(const struct dashboard_request *request)
{
    return json_stringn(request->match.id.p, request->match.id.n);
}

static json_t *user_of(const struct dashboard_request *request)
{
    return json_string(request->who.user_id);
}

static json_t *token_hash_of(const struct dashboard_request *request)
{
    return json_string(request->token_hash);
}

static json_t *role_of(const struct dashboard_request *request)
{
    return json_string(request->who.role_name);
}

static const struct {
    enum fill fill;
    const char *name;
    json_t *(*value)(const struct dashboard_request *request); /* NULL: nothing to add */
} additions[] = {
    {FILL_ID, "id", id_in_path},
    {FILL_USER, "user_id", user_of},
    {FILL_TOKEN, "token_hash", token_hash_of},
    {FILL_KEEP, "keep", token_hash_of},
    {FILL_ROLE, "by_role", role_of},
    {FILL_CALLER, "address", address_of_client},
    {FILL_CALLER, "user_agent", user_agent_of},
    {FILL_EDITOR, "editor_address", address_of_client},
    {HOLD_LIMIT, "rate_limit", NULL},
};

static void set(json_t *body, const char *name, json_t *value)
{
    const int failed = json_object_set_new(body, name, value);

    must(failed == 0);
}

/* False: a response has been sent. */
static bool add_all(struct dashboard_request *request, json_t *body)
{
    for (size_t i = 0; i < ARRAY_SIZE(additions); i++) {
        if ((request->match.action->fills & additions[i].fill) == 0)
            continue;
        if (json_object_get(body, additions[i].name) != NULL) {
            dashboard_response_invalid(&request->http, additions[i].name, "is set by the server");
            return false;
        }
        if (additions[i].value != NULL)
            set(body, additions[i].name, additions[i].value(request));
    }
    return true;
}

/* Replaces `range` by the times that it means, which end with the current step. */
static bool add_range(struct dashboard_request *request, json_t *body)
{
    static const struct {
        const char *name;
        int length, step; /* seconds */
    } ranges[] = {{"1h", 3600, 60}, {"24h", 86400, 900}, {"7d", 604800, 3600}};
    struct str given = json_member_text(body, "range");

    if ((request->match.action->fills & FILL_RANGE) == 0)
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
        int64_t until = (clock_us() / 1000000 / ranges[i].step + 1) * ranges[i].step;
        int failed;

        if (!str_equal(given, str_of(ranges[i].name)))
            continue;
        failed = json_object_del(body, "range");
        must(failed == 0); /* it was found above */
        set(body, "since", json_integer(until - ranges[i].length));
        set(body, "until", json_integer(until));
        set(body, "step", json_integer(ranges[i].step));
        return true;
    }
    dashboard_response_invalid(&request->http, "range", "must be 1h, 24h or 7d");
    return false;
}

/* -- the body -------------------------------------------------------------------------------- */

static bool is_fit(enum action_body kind, const json_t *body)
{
    if (!json_is_object(body))
        return false;
    if (kind == BODY_NONE)
        return json_object_size(body) == 0;
    return kind != BODY_STEP ||
           json_object_size(body) == (json_is_object(json_object_get(body, "position")) ? 1 : 0);
}

static json_t *step_of(json_t *body)
{
    json_t *position = json_object_get(body, "position");

    if (position == NULL)
        return body;
    json_incref(position);
    json_free(body);
    return position;
}

/* The request's body as an object. NULL: a response has been sent. */
static json_t *read_body(struct dashboard_request *request)
{
    enum action_body kind = request->match.action->body;
    struct str entity = {request->http.req->entity.base, request->http.req->entity.len};
    json_t *body;

    if (entity.n == 0)
        return json_object();
    if (!json_read(entity, &body, NULL)) {
        dashboard_response_refusal(&request->http, OUTCOME_INVALID_JSON,
                                   "The body is not valid JSON");
        return NULL;
    }
    if (is_fit(kind, body))
        return kind == BODY_STEP ? step_of(body) : body;
    json_free(body);
    dashboard_response_refusal(&request->http, OUTCOME_PARAMETER_INVALID,
                               kind == BODY_NONE
                                   ? "This request takes no fields"
                                   : "The body must be a JSON object with the documented fields");
    return NULL;
}

static bool add_query(struct dashboard_request *request, json_t *body)
{
    char field[64];

    if (parameters_read(request->query, request->match.action->query, body, field))
        return true;
    dashboard_response_invalid(&request->http, field,
                               "is an unknown parameter or has an invalid value");
    return false;
}

json_t *backend_body(struct dashboard_request *request)
{
    json_t *body = read_body(request);

    if (body == NULL)
        return NULL;
    if (add_query(request, body) && add_range(request, body) && add_all(request, body))
        return body;
    json_free(body);
    return NULL;
}

/* -- the command ----------------------------------------------------------------------------- */

static void on_call_end(void *owner, enum call_end end, struct bus_message *message)
{
    struct dashboard_request *request = owner;
    call_fn on_end = request->on_end;

    request->on_end = NULL;
    on_end(request, end, message);
}

bool backend_call(struct dashboard_request *request, const char *subject, struct str body,
                  call_fn on_end)
{
    char client[ADDRESS_TEXT];
    struct call_request call = {
        .subject = subject,
        .body = body,
        .timeout = CALL_TIMEOUT_OWNER,
        .until_us = edge_request_until_us(&request->http, EDGE_REQUEST_LIMIT_COMMAND),
        .on_end = on_call_end,
        .owner = request};

    /* The deadline has passed: the service would not run the command. */
    if (call.until_us <= clock_mono_us())
        return false;
    address_format(&request->http.client, client);
    call_headers_add(&call.headers, HEADER_REQUEST_ID, request->http.id);
    call_headers_add(&call.headers, HEADER_CLIENT, client);
    if (request->http.traceparent[0] != '\0')
        call_headers_add(&call.headers, HEADER_TRACEPARENT, request->http.traceparent);
    if (request->who.answer != NULL) {
        call.cell = request->who.cell;
        call_headers_add(&call.headers, HEADER_ORGANIZATION, request->who.organization_id);
        call_headers_add(&call.headers, HEADER_USER, request->who.user_id);
        call_headers_add(&call.headers, HEADER_USER_EMAIL, request->who.email);
    }
    if (edge_request_call(&request->http, &call) != ST_OK)
        return false;
    request->on_end = on_end;
    return true;
}

bool backend_give_up(struct dashboard_request *request)
{
    if (request->on_end == NULL)
        return false;
    edge_request_cancel_call(&request->http);
    on_call_end(request, CALL_LATE, NULL);
    return true;
}

void backend_call_action(struct dashboard_request *request, call_fn on_end)
{
    const struct action *action = request->match.action;
    json_t *body = backend_body(request);
    char *text;
    bool is_sent;

    if (body == NULL) {
        door_leave(&request->place);
        return;
    }
    text = json_dumps(body, JSON_COMPACT);
    json_free(body);
    must(text != NULL);
    is_sent = backend_call(request, action->subject, str_of(text), on_end);
    if (action->body == BODY_SECRET)
        crypto_wipe(text, strlen(text));
    free(text);
    if (is_sent)
        return;
    door_leave(&request->place);
    dashboard_response_refusal(&request->http, OUTCOME_UNAVAILABLE, NULL);
}

/* -- endpoints as members see them ----------------------------------------------------------- */

static json_t *host_alone(struct str url)
{
    const char *host = url.n > 0 ? memmem(url.p, url.n, "://", 3) : NULL;
    size_t n = 0;

    if (host != NULL) {
        n = (size_t)(host - url.p) + 3;
        while (n < url.n && strchr("/?#", url.p[n]) == NULL)
            n++;
    }
    return json_sprintf("%.*s/…", (int)n, url.p != NULL ? url.p : "");
}

static bool hide_paths(json_t *endpoints)
{
    if (!json_is_array(endpoints))
        return false;
    for (size_t i = 0; i < json_array_size(endpoints); i++) {
        json_t *one = json_array_get(endpoints, i);

        if (json_object_set_new(one, "url", host_alone(json_member_text(one, "url"))) != 0)
            return false; /* not an object */
    }
    return true;
}

char *endpoints_without_paths(struct str list)
{
    char *text = NULL;
    json_t *endpoints;

    if (!json_read(list, &endpoints, NULL))
        return NULL;
    if (hide_paths(endpoints))
        text = json_dumps(endpoints, JSON_COMPACT);
    json_free(endpoints);
    return text;
}

/* A list of endpoints as members see it; STR_NONE if the body is not one. */
static struct str hide_urls(struct dashboard_request *request, struct str body)
{
    char *text = endpoints_without_paths(body);
    h2o_iovec_t copy;

    if (text == NULL)
        return STR_NONE;
    copy = h2o_strdup(&request->http.req->pool, text, strlen(text));
    free(text);
    return (struct str){copy.base, copy.len};
}

/* -- the answer ------------------------------------------------------------------------------ */

enum outcome backend_outcome(struct dashboard_request *request, enum call_end end,
                             struct bus_message *message, struct str *body)
{
    const bool writes = !str_equal(str_of(request->match.action->method), STR("GET"));
    const enum outcome outcome = call_outcome(end, message, writes, body);

    /* The service no longer hashes a password for this request. */
    if (end == CALL_REPLIED || end == CALL_NOBODY)
        door_leave(&request->place);
    bus_message_free(request->reply);
    request->reply = message;
    return outcome;
}

static bool may_not_see_urls(const struct dashboard_request *request)
{
    return (request->match.action->fills & HIDE_URL) != 0 && request->who.role < ROLE_ADMIN;
}

void backend_pass_on(struct dashboard_request *request, enum outcome outcome, struct str body)
{
    struct dashboard_response response = {.cookie = request->cookie};

    if (outcome == OUTCOME_OK && may_not_see_urls(request)) {
        body = hide_urls(request, body);
        outcome = body.p != NULL ? OUTCOME_OK : OUTCOME_UNAVAILABLE;
    }
    if (body.n == 0) {
        dashboard_response_refusal(&request->http, outcome, NULL);
        return;
    }
    response.status = outcome_http_status(outcome);
    response.body = body;
    if (response.status == 429)
        response.retry_after = bus_message_header(request->reply, HEADER_RETRY_AFTER);
    dashboard_response_send(&request->http, &response);
}
