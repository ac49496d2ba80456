/* Builds the command of a request, with body and headers, and reads its reply. */

#include "services/dashboard/backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/ascii.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "proto/headers.h"
#include "proto/subject.h"
#include "services/dashboard/dashboard_request.h"
#include "services/dashboard/dashboard_response.h"

/* -- paths ----------------------------------------------------------------------------------- */

static bool is_of_id(char c)
{
    return ascii_is_alphanumeric(c) || c == '-' || c == '_';
}

bool path_matches(struct str path, const char *pattern, struct str *id)
{
    const char *star = strchr(pattern, '*');
    struct str rest;
    size_t n = 0;

    *id = STR_NONE;
    if (star == NULL)
        return str_equal(path, str_of(pattern));
    if (!str_starts(path, (struct str){pattern, (size_t)(star - pattern)}))
        return false;
    rest = str_skip(path, (size_t)(star - pattern));
    while (n < rest.n && is_of_id(rest.p[n]))
        n++;
    if (n == 0 || n > PATH_ID_MAX || !str_equal(str_skip(rest, n), str_of(star + 1)))
        return false;
    *id = (struct str){rest.p, n};
    return true;
}

/* -- actions --------------------------------------------------------------------------------- */

static const struct parameter no_query[] = {{NULL, false}};
static const struct parameter audit_query[] = {
    {"per_page", true},         {"starting_after", false},   {"operation", false},
    {"outcome", false},         {"api_key_id", false},       {"conversation_id", false},
    {"created_at_after", true}, {"created_at_before", true}, {NULL, false},
};
static const struct parameter changes_query[] = {{"per_page", true},
                                                 {"starting_after", false},
                                                 {"change", false},
                                                 {"who", false},
                                                 {NULL, false}};
static const struct parameter inbox_query[] = {
    {"channel", false}, {"status", false},         {"contact", false},
    {"per_page", true}, {"starting_after", false}, {NULL, false},
};
static const struct parameter export_query[] = {{"after", true}, {"before", true}, {NULL, false}};
static const struct parameter before_query[] = {{"before", false}, {NULL, false}};
static const struct parameter deliveries_query[] = {
    {"limit", true}, {"before", false}, {NULL, false}};
static const struct parameter range_query[] = {{"range", false}, {NULL, false}};

static const struct action actions[] = {
#define ACTION(method_, path_, subject_, min_, kind_, body_, fills_, query_)                       \
    {                                                                                              \
        .method = #method_,                                                                        \
        .path = (path_),                                                                           \
        .subject = SUBJECT_##subject_,                                                             \
        .min = ROLE_##min_,                                                                        \
        .kind = ACTION_##kind_,                                                                    \
        .body = BODY_##body_,                                                                      \
        .fills = (fills_),                                                                         \
        .query = (query_),                                                                         \
    },
#include "services/dashboard/action.def"
#undef ACTION
};

static void allow(struct action_match *out, const char *method)
{
    size_t n = strlen(out->allow);

    snprintf(out->allow + n, sizeof(out->allow) - n, "%s%s", n > 0 ? ", " : "", method);
}

void action_find(struct str method, struct str path, struct action_match *out)
{
    *out = (struct action_match){.end = ACTION_UNKNOWN, .id = STR_NONE};
    for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
        struct str id;

        if (!path_matches(path, actions[i].path, &id))
            continue;
        if (str_equal(method, str_of(actions[i].method))) {
            out->end = ACTION_FOUND;
            out->action = &actions[i];
            out->id = id;
            return;
        }
        out->end = ACTION_NO_METHOD;
        allow(out, actions[i].method);
    }
}

/* -- parameters ------------------------------------------------------------------------------ */

static json_t *value_of(const struct parameter *parameter, struct str raw)
{
    char text[PARAMETERS_VALUE_MAX];
    struct str value;
    uint64_t number;

    if (!text_decode_form(raw, text, sizeof(text), &value))
        return NULL;
    if (!parameter->is_number)
        return json_stringn(value.p, value.n);
    return str_to_u64(value, INT64_MAX, &number) ? json_integer((json_int_t)number) : NULL;
}

static const struct parameter *find(const struct parameter *list, struct str name)
{
    for (; list->name != NULL; list++)
        if (str_equal(name, str_of(list->name)))
            return list;
    return NULL;
}

/* Only letters, digits and underscores, so that the name is safe to show anywhere. */
static void blame(struct str name, char field[64])
{
    size_t n = 0;

    for (size_t i = 0; i < name.n && n < 63; i++) {
        char c = name.p[i];
        bool is_plain = ascii_is_alphanumeric(c);

        field[n++] = is_plain ? c : '_';
    }
    field[n] = '\0';
}

bool parameters_read(struct str query, const struct parameter *list, json_t *object, char field[64])
{
    struct str rest = query.n > 0 ? query : STR_NONE;

    while (rest.p != NULL) {
        struct str raw = str_cut(&rest, '&');
        struct str name = str_cut(&raw, '=');
        const struct parameter *parameter = find(list, name);
        json_t *value = NULL;

        if (parameter != NULL && raw.p != NULL && json_object_get(object, parameter->name) == NULL)
            value = value_of(parameter, raw);
        if (value == NULL || json_object_set_new(object, parameter->name, value) != 0) {
            blame(name, field);
            return false;
        }
    }
    return true;
}

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

void backend_pass_on(struct dashboard_request *request, enum outcome outcome, struct str body)
{
    struct dashboard_response response = {
        .status = outcome_http_status(outcome), .body = body, .cookie = request->cookie};

    if (body.n == 0) {
        dashboard_response_refusal(&request->http, outcome, NULL);
        return;
    }
    if (response.status == 429)
        response.retry_after = bus_message_header(request->reply, HEADER_RETRY_AFTER);
    dashboard_response_send(&request->http, &response);
}
