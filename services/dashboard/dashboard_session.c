#include "services/dashboard/dashboard_session.h"

#include "common/base/log.h"
#include "proto/subject.h"
#include "services/dashboard/backend.h"
#include "services/dashboard/dashboard_metrics.h"
#include "services/dashboard/dashboard_request.h"
#include "services/dashboard/dashboard_response.h"

/* -- checking -------------------------------------------------------------------------------- */

struct str dashboard_token_body(struct dashboard_request *request)
{
    struct buf buf;

    if (request->token_body.p != NULL)
        return request->token_body;
    buf_init(&buf, &request->http.arena, 128);
    buf_char(&buf, '{');
    json_add_text(&buf, "token_hash", str_of(request->token_hash));
    buf_char(&buf, '}');
    request->token_body = buf_str(&buf);
    return request->token_body;
}

bool dashboard_session_check(struct dashboard_request *request, call_fn on_end)
{
    return backend_call(request, SUBJECT_ACCESS_SESSION_CHECK, dashboard_token_body(request),
                        on_end);
}

enum outcome dashboard_session_learn(struct dashboard_request *request, enum call_end end,
                                     struct bus_message *message)
{
    struct str body;
    enum outcome outcome = backend_outcome(request, end, message, &body);
    struct identity who;

    if (outcome == OUTCOME_UNAUTHORIZED)
        return outcome;
    if (outcome != OUTCOME_OK || !identity_read(body, &who))
        return OUTCOME_UNAVAILABLE;
    identity_release(&request->who);
    request->who = who;
    if (request->http.span.context.is_sampled)
        (void)uuid_parse(str_of(who.organization_id), &request->http.span.organization_id);
    return who.role < request->match.action->min ? OUTCOME_INSUFFICIENT_ROLE : OUTCOME_OK;
}

/* -- the session for the pages --------------------------------------------------------------- */

/* A copy of the parts that pages may see of `answer`, a reply to session-check or to a sign-in. */
static json_t *view_of(const struct dashboard_request *request, const json_t *answer,
                       struct str token)
{
    char csrf[2 * SHA256_BYTES + 1], address[ADDRESS_TEXT];

    dashboard_csrf_token(token, csrf);
    address_format(&request->http.client, address);
    return json_pack(
        "{s:O?, s:O?, s:O?, s:s, s:s, s:s, s:b, s:b}", "user", json_object_get(answer, "user"),
        "organization", json_object_get(answer, "organization"), "expires_at",
        json_object_get(answer, "expires_at"), "csrf", csrf, "address", address, "base_url",
        dashboard_of(request)->base_url, "secure", (int)request->http.is_https, "shows_services",
        (int)dashboard_of(request)->shows_services);
}

static void send_view(struct dashboard_request *request)
{
    char *text = json_dumps(request->view, JSON_COMPACT);

    must(text != NULL);
    dashboard_response_text(&request->http, text, request->cookie);
}

void dashboard_show_nobody(struct dashboard_request *request)
{
    request->view = json_pack("{s:n}", "user");
    send_view(request);
}

void dashboard_show_session(struct dashboard_request *request)
{
    request->view = view_of(request, request->who.answer, request->token);
    send_view(request);
}

/* -- beginning ------------------------------------------------------------------------------- */

/* The new session stands even if the old one could not be ended. */
static void on_old_ended(void *owner, enum call_end end, struct bus_message *message)
{
    bus_message_free(message);
    send_view(owner);
}

/* The browser's previous session, of this user or another, ends with the sign-in. */
static void end_old(struct dashboard_request *request)
{
    if (request->token.p == NULL || !backend_call(request, SUBJECT_ACCESS_SESSION_END,
                                                  dashboard_token_body(request), on_old_ended))
        send_view(request);
}

static bool begin_session(struct dashboard_request *request, json_t *answer)
{
    struct str token = json_member_text(answer, "session");
    char *cookie;

    if (!cookie_is_token(token))
        return false;
    cookie = arena_alloc(&request->http.arena, COOKIE_TEXT);
    cookie_write(token, request->http.is_https, cookie);
    request->cookie = cookie;
    request->view = view_of(request, answer, token);
    metric_add(dashboard_metrics.sign_ins, 1);
    return true;
}

static void note_refusal(const struct dashboard_request *request, enum outcome outcome)
{
    char client[ADDRESS_TEXT];

    if (outcome != OUTCOME_UNAUTHORIZED && outcome != OUTCOME_RATE_LIMITED)
        return;
    address_format(&request->http.client, client);
    metric_add(dashboard_metrics.sign_ins_refused, 1);
    LOG(LOG_INFO, "sign-in refused", log_str("request_id", request->http.id),
        log_trace(str_of(request->http.traceparent)), log_str("client", client),
        log_str("outcome", outcome_name(outcome)));
}

static void on_signed_in(void *owner, enum call_end end, struct bus_message *message)
{
    struct dashboard_request *request = owner;
    struct str body;
    enum outcome outcome = backend_outcome(request, end, message, &body);
    json_t *answer = NULL;

    if (outcome != OUTCOME_OK) {
        note_refusal(request, outcome);
        backend_pass_on(request, outcome, body);
        return;
    }
    if (json_read(body, &answer, NULL) && json_object_get(answer, "session") == NULL)
        backend_pass_on(request, outcome, body); /* the user must choose an organization */
    else if (begin_session(request, answer))
        end_old(request);
    else
        dashboard_response_refusal(&request->http, OUTCOME_UNCERTAIN, NULL);
    json_free(answer);
}

void dashboard_sign_in(struct dashboard_request *request)
{
    backend_call_action(request, on_signed_in);
}

/* -- ending ---------------------------------------------------------------------------------- */

static void on_signed_out(void *owner, enum call_end end, struct bus_message *message)
{
    struct dashboard_request *request = owner;
    struct str body;
    enum outcome outcome = backend_outcome(request, end, message, &body);
    char *cookie;

    if (outcome != OUTCOME_OK) {
        backend_pass_on(request, outcome, body);
        return;
    }
    cookie = arena_alloc(&request->http.arena, COOKIE_TEXT);
    cookie_write(STR_NONE, request->http.is_https, cookie);
    dashboard_response_send(&request->http,
                            &(struct dashboard_response){
                                .status = 200, .body = body, .cookie = cookie, .forgets = true});
}

void dashboard_sign_out(struct dashboard_request *request)
{
    backend_call_action(request, on_signed_out);
}
