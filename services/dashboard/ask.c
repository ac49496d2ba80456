/* What a request asks of the services: the command's body and headers, and its answer. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "proto/headers.h"
#include "services/dashboard/dialog.h"
#include "services/dashboard/respond.h"

#define USER_AGENT_MOST 255 /* as access keeps it */

/* -- what the dashboard adds to a body ------------------------------------------------------- */

/* What a browser calls itself, as plain text. */
static json_t *user_agent_of(const struct dialog *dialog)
{
    struct str given = dialog->lines.user_agent.value;
    char text[USER_AGENT_MOST];
    size_t n = given.n < sizeof(text) ? given.n : sizeof(text);

    for (size_t i = 0; i < n; i++)
        text[i] = given.p[i] >= ' ' && given.p[i] <= '~' ? given.p[i] : '?';
    return json_stringn(text, n);
}

static json_t *address_of_client(const struct dialog *dialog)
{
    char text[ADDRESS_TEXT];

    address_format(&dialog->visit.client, text);
    return json_string(text);
}

static json_t *id_in_path(const struct dialog *dialog)
{
    return json_stringn(dialog->found.id.p, dialog->found.id.n);
}

static json_t *user_of(const struct dialog *dialog)
{
    return json_string(dialog->who.user_id);
}

static json_t *token_hash_of(const struct dialog *dialog)
{
    return json_string(dialog->token_hash);
}

static json_t *role_of(const struct dialog *dialog)
{
    return json_string(dialog->who.role_name);
}

static const struct {
    enum fill fill;
    const char *name;
    json_t *(*value)(const struct dialog *dialog); /* NULL: nothing is added either */
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

/* False: the request has been answered. */
static bool add_all(struct dialog *dialog, json_t *body)
{
    for (size_t i = 0; i < sizeof(additions) / sizeof(additions[0]); i++) {
        if ((dialog->found.action->fills & additions[i].fill) == 0)
            continue;
        if (json_object_get(body, additions[i].name) != NULL) {
            respond_invalid(&dialog->visit, additions[i].name, "is not for you to set");
            return false;
        }
        must(additions[i].value == NULL ||
             json_object_set_new(body, additions[i].name, additions[i].value(dialog)) == 0);
    }
    return true;
}

/* `range` becomes the time that it means, which ends with the step that is running. */
static bool add_range(struct dialog *dialog, json_t *body)
{
    static const struct {
        const char *name;
        int length, step; /* seconds */
    } ranges[] = {{"1h", 3600, 60}, {"24h", 86400, 900}, {"7d", 604800, 3600}};
    struct str given = json_member_text(body, "range");

    if ((dialog->found.action->fills & FILL_RANGE) == 0)
        return true;
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        int64_t until = (clock_us() / 1000000 / ranges[i].step + 1) * ranges[i].step;

        if (!str_equal(given, str_of(ranges[i].name)))
            continue;
        must(json_object_del(body, "range") == 0 &&
             json_object_set_new(body, "since", json_integer(until - ranges[i].length)) == 0 &&
             json_object_set_new(body, "until", json_integer(until)) == 0 &&
             json_object_set_new(body, "step", json_integer(ranges[i].step)) == 0);
        return true;
    }
    respond_invalid(&dialog->visit, "range", "must be 1h, 24h or 7d");
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

/* The request's body as an object. NULL: the request has been answered. */
static json_t *read_body(struct dialog *dialog)
{
    enum action_body kind = dialog->found.action->body;
    struct str entity = {dialog->visit.req->entity.base, dialog->visit.req->entity.len};
    char error[160];
    json_t *body;

    if (entity.n == 0)
        return json_object();
    if (!json_read(entity, &body, error)) {
        respond_refusal(&dialog->visit, OUTCOME_INVALID_JSON, "The body is not valid JSON");
        return NULL;
    }
    if (is_fit(kind, body))
        return kind == BODY_STEP ? step_of(body) : body;
    json_free(body);
    respond_refusal(&dialog->visit, OUTCOME_PARAMETER_INVALID,
                    kind == BODY_NONE ? "This request takes no fields"
                                      : "The body is not the JSON object that this takes");
    return NULL;
}

static bool add_query(struct dialog *dialog, json_t *body)
{
    char field[64];

    if (parameters_read(dialog->query, dialog->found.action->query, body, field))
        return true;
    respond_invalid(&dialog->visit, field, "is not a parameter of this resource, or its value");
    return false;
}

json_t *ask_body(struct dialog *dialog)
{
    json_t *body = read_body(dialog);

    if (body == NULL)
        return NULL;
    if (add_query(dialog, body) && add_range(dialog, body) && add_all(dialog, body))
        return body;
    json_free(body);
    return NULL;
}

/* -- the command ----------------------------------------------------------------------------- */

bool ask_try(struct dialog *dialog, const char *subject, struct str body, call_fn on_end)
{
    struct bus_header headers[CALL_HEADERS_MOST];
    char client[ADDRESS_TEXT];
    struct call_request request = {.subject = subject,
                                   .headers = headers,
                                   .body = body,
                                   .patience = PATIENCE_LONG,
                                   .on_end = on_end,
                                   .owner = dialog};

    address_format(&dialog->visit.client, client);
    headers[request.n_headers++] = (struct bus_header){HEADER_REQUEST_ID, dialog->visit.id};
    headers[request.n_headers++] = (struct bus_header){HEADER_CLIENT, client};
    if (dialog->visit.traceparent[0] != '\0')
        headers[request.n_headers++] =
            (struct bus_header){HEADER_TRACEPARENT, dialog->visit.traceparent};
    if (dialog->who.answer != NULL) {
        headers[request.n_headers++] =
            (struct bus_header){HEADER_ORGANIZATION, dialog->who.organization_id};
        headers[request.n_headers++] = (struct bus_header){HEADER_USER, dialog->who.user_id};
        headers[request.n_headers++] = (struct bus_header){HEADER_USER_EMAIL, dialog->who.email};
    }
    return visit_call(&dialog->visit, &request) == ST_OK;
}

void ask(struct dialog *dialog, call_fn on_end)
{
    const struct action *action = dialog->found.action;
    h2o_iovec_t *entity = &dialog->visit.req->entity;
    json_t *body = ask_body(dialog);
    char *text;
    bool is_asked;

    if (body == NULL)
        return;
    text = json_dumps(body, JSON_COMPACT);
    json_free(body);
    must(text != NULL);
    is_asked = ask_try(dialog, action->subject, str_of(text), on_end);
    if (action->body == BODY_SECRET) {
        crypto_wipe(text, strlen(text));
        crypto_wipe(entity->base, entity->len);
    }
    free(text);
    if (!is_asked)
        respond_refusal(&dialog->visit, OUTCOME_UNAVAILABLE, NULL);
}

/* -- the answer ------------------------------------------------------------------------------ */

enum outcome ask_outcome(struct dialog *dialog, enum call_end end, struct bus_message *message,
                         struct str *body)
{
    enum outcome outcome = OUTCOME_UNCERTAIN;

    bus_message_free(dialog->reply);
    dialog->reply = message;
    *body = STR_NONE;
    if (end == CALL_NOBODY)
        outcome = OUTCOME_UNAVAILABLE;
    if (end == CALL_ANSWERED && outcome_of(bus_message_header(message, HEADER_OUTCOME), &outcome))
        *body = bus_message_body(message);
    /* An older service, in the middle of an upgrade: it did nothing. */
    if (outcome == OUTCOME_UNKNOWN_COMMAND) {
        outcome = OUTCOME_UNAVAILABLE;
        *body = STR_NONE;
    }
    /* A success without its resource is none that can be vouched for. */
    if (outcome_code(outcome) == NULL && body->n == 0)
        outcome = OUTCOME_UNCERTAIN;
    /* What only reads has changed nothing, whatever became of it. */
    if (outcome == OUTCOME_UNCERTAIN && str_equal(str_of(dialog->found.action->method), STR("GET")))
        outcome = OUTCOME_UNAVAILABLE;
    return outcome;
}

void ask_pass_on(struct dialog *dialog, enum outcome outcome, struct str body)
{
    struct response response = {
        .status = outcome_http_status(outcome), .body = body, .cookie = dialog->cookie};

    if (body.n == 0) {
        respond_refusal(&dialog->visit, outcome, NULL);
        return;
    }
    if (response.status == 429)
        response.retry_after = bus_message_header(dialog->reply, HEADER_RETRY_AFTER);
    respond(&dialog->visit, &response);
}
