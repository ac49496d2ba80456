#include "services/dashboard/dashboard_request.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/ascii.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/http/request_headers.h"
#include "proto/subject.h"
#include "services/dashboard/dashboard_metrics.h"
#include "services/dashboard/dashboard_response.h"
#include "services/dashboard/dashboard_session.h"

struct dashboard *dashboard_of(const struct dashboard_request *request)
{
    return H2O_STRUCT_FROM_MEMBER(struct dashboard, edge, request->http.edge);
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

/* -- the state of the services --------------------------------------------------------------- */

static void send_services(struct dashboard_request *request)
{
    const struct deployment *deployment = &dashboard_of(request)->deployment;

    dashboard_response_text(
        &request->http, deployment_state_write(&deployment->state, deployment->as_of_us / 1000000),
        NULL);
}

static void on_services(struct deployment_waiter *waiter, bool is_known)
{
    struct dashboard_request *request =
        H2O_STRUCT_FROM_MEMBER(struct dashboard_request, services, waiter);

    if (is_known)
        send_services(request);
    else
        dashboard_response_refusal(&request->http, OUTCOME_UNAVAILABLE,
                                   "No service has answered; try again in a moment");
}

static void show_services(struct dashboard_request *request)
{
    struct dashboard *dashboard = dashboard_of(request);

    if (!dashboard->shows_services) {
        dashboard_response_refusal(&request->http, OUTCOME_NOT_FOUND, NULL);
        return;
    }
    switch (deployment_ask(&dashboard->deployment, &request->services, on_services)) {
    case DEPLOYMENT_KNOWN:
        send_services(request);
        return;
    case DEPLOYMENT_ASKED:
        return;
    case DEPLOYMENT_UNREACHABLE:
        dashboard_response_refusal(&request->http, OUTCOME_UNAVAILABLE, NULL);
        return;
    }
}

/* -- the action ------------------------------------------------------------------------------ */

static void pass_on(void *owner, enum call_end end, struct bus_message *message)
{
    struct dashboard_request *request = owner;
    struct str body;
    enum outcome outcome = backend_outcome(request, end, message, &body);

    if (outcome == OUTCOME_OK && (request->match.action->fills & HIDE_URL) != 0 &&
        request->who.role < ROLE_ADMIN) {
        body = hide_urls(request, body);
        if (body.p == NULL)
            outcome = OUTCOME_UNAVAILABLE;
    }
    backend_pass_on(request, outcome, body);
}

static void perform_now(struct dashboard_request *request)
{
    switch (request->match.action->kind) {
    case ACTION_PASS:
        backend_call_action(request, pass_on);
        return;
    case ACTION_SIGN_IN:
        dashboard_sign_in(request);
        return;
    case ACTION_SHOW:
        dashboard_show_session(request);
        return;
    case ACTION_SERVICES:
        show_services(request);
        return;
    case ACTION_SIGN_OUT:
        dashboard_sign_out(request);
        return;
    case ACTION_EXPORT:
    case ACTION_EXPORT_CSV:
        dashboard_export_begin(request);
        return;
    }
}

static void turn_away(struct dashboard_request *request)
{
    metric_add(dashboard_metrics.sign_ins_shed, 1);
    dashboard_response_refusal(&request->http, OUTCOME_BUSY,
                               "Many people are signing in; try again in a moment");
}

static void on_turn(struct door_place *place, bool is_let_in)
{
    struct dashboard_request *request =
        H2O_STRUCT_FROM_MEMBER(struct dashboard_request, place, place);

    if (is_let_in)
        perform_now(request);
    else
        turn_away(request);
}

/* A request with a password waits at the door. */
static void perform(struct dashboard_request *request)
{
    enum door_turn turn = DOOR_LET_IN;

    if (request->match.action->body == BODY_SECRET)
        turn = door_come(&dashboard_of(request)->door, &request->place, &request->http.client,
                         on_turn);
    if (turn == DOOR_LET_IN)
        perform_now(request);
    else if (turn == DOOR_TURNED_AWAY)
        turn_away(request);
}

/* -- the user -------------------------------------------------------------------------------- */

enum outcome dashboard_request_learn(struct dashboard_request *request, enum call_end end,
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

/* -- shares ---------------------------------------------------------------------------------- */

/* False: a 429 has been sent. Runs before access is asked for the session's user. */
static bool enter_session(struct dashboard_request *request)
{
    struct dashboard *dashboard = dashboard_of(request);
    unsigned wait_s;

    request->session_share =
        shares_enter(dashboard->sessions, str_of(request->token_hash), clock_mono_us(), &wait_s);
    if (request->session_share == NULL) {
        metric_add(dashboard_metrics.limited_sessions, 1);
        dashboard_response_too_many(&request->http, wait_s);
        return false;
    }
    if (request->session_share->is_known)
        return true;
    wait_s = throttle_wait(dashboard->strangers, &request->http.client, clock_mono_us());
    if (wait_s == 0)
        return true;
    metric_add(dashboard_metrics.limited_strangers, 1);
    dashboard_response_too_many(&request->http, wait_s);
    return false;
}

/* The same for the organization, once it is known. */
static bool enter_organization(struct dashboard_request *request)
{
    unsigned wait_s;

    request->organization_share =
        shares_enter(dashboard_of(request)->organizations, str_of(request->who.organization_id),
                     clock_mono_us(), &wait_s);
    if (request->organization_share != NULL)
        return true;
    metric_add(dashboard_metrics.limited_organizations, 1);
    dashboard_response_too_many(&request->http, wait_s);
    return false;
}

static bool is_change(const struct action *action)
{
    return !str_equal(str_of(action->method), STR("GET")) && action->body != BODY_STEP;
}

/* The same for the organization's changes. */
static bool enter_change(struct dashboard_request *request)
{
    unsigned wait_s;

    if (!is_change(request->match.action))
        return true;
    request->change_share =
        shares_enter(dashboard_of(request)->changes, str_of(request->who.organization_id),
                     clock_mono_us(), &wait_s);
    if (request->change_share != NULL)
        return true;
    metric_add(dashboard_metrics.limited_changes, 1);
    dashboard_response_too_many(&request->http, wait_s);
    return false;
}

static void refuse(struct dashboard_request *request, enum outcome outcome)
{
    if (outcome == OUTCOME_UNAUTHORIZED && request->match.action->kind == ACTION_SHOW)
        dashboard_show_nobody(request);
    else
        dashboard_response_refusal(&request->http, outcome, NULL);
}

static void on_checked(void *owner, enum call_end end, struct bus_message *message)
{
    struct dashboard_request *request = owner;
    enum outcome outcome = dashboard_request_learn(request, end, message);

    if (outcome == OUTCOME_UNAUTHORIZED)
        (void)throttle_note(dashboard_of(request)->strangers, &request->http.client,
                            clock_mono_us());
    if (outcome != OUTCOME_UNAVAILABLE)
        request->session_share->is_known = outcome != OUTCOME_UNAUTHORIZED;
    if (outcome != OUTCOME_OK)
        refuse(request, outcome);
    else if (enter_organization(request) && enter_change(request))
        perform(request);
}

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

bool dashboard_request_check(struct dashboard_request *request, call_fn on_end)
{
    return backend_call(request, SUBJECT_ACCESS_SESSION_CHECK, dashboard_token_body(request),
                        on_end);
}

/* -- the origin of the request --------------------------------------------------------------- */

/* A browser sends an Origin with every method but GET, and with a GET from a script of another
   site. */
static bool is_foreign(const struct dashboard_request *request, bool may_change)
{
    const struct request_headers *headers = &request->headers;
    const h2o_iovec_t *host = &request->http.req->input.authority;

    if (headers->fetch_site.n > 1 || origin_is_foreign(headers->fetch_site.value))
        return true;
    if (headers->origin.n == 0)
        return may_change;
    return headers->origin.n > 1 || !origin_is_own(headers->origin.value, request->http.is_https,
                                                   (struct str){host->base, host->len});
}

static bool has_csrf_token(const struct dashboard_request *request)
{
    const struct str given = request_header_once(&request->headers.csrf_token);
    char wanted[2 * SHA256_BYTES + 1];

    dashboard_csrf_token(request->token, wanted);
    return given.n == sizeof(wanted) - 1 && crypto_equal(given.p, wanted, sizeof(wanted) - 1);
}

/* OUTCOME_OK: access may be asked for the session's user or, for a sign-in, a session may start. */
static enum outcome judge(const struct dashboard_request *request)
{
    const struct action *action = request->match.action;
    bool may_change = !str_equal(str_of(action->method), STR("GET"));

    if (is_foreign(request, may_change))
        return OUTCOME_FORBIDDEN_ORIGIN;
    if (may_change && media_body_error(&request->headers) != NULL)
        return OUTCOME_UNSUPPORTED_MEDIA;
    if (action->kind == ACTION_SIGN_IN)
        return OUTCOME_OK;
    if (request->token.p == NULL)
        return OUTCOME_UNAUTHORIZED;
    return may_change && !has_csrf_token(request) ? OUTCOME_INVALID_CSRF_TOKEN : OUTCOME_OK;
}

static void note_foreign(const struct dashboard_request *request, enum outcome outcome)
{
    char client[ADDRESS_TEXT];

    if (outcome != OUTCOME_FORBIDDEN_ORIGIN && outcome != OUTCOME_INVALID_CSRF_TOKEN)
        return;
    address_format(&request->http.client, client);
    metric_add(dashboard_metrics.foreign, 1);
    LOG(LOG_INFO, "request refused: not sent by a page of the dashboard",
        log_str("request_id", request->http.id), log_trace(str_of(request->http.traceparent)),
        log_str("reason", outcome_code(outcome)), log_str("client", client));
}

static void read_token(struct dashboard_request *request)
{
    uint8_t digest[SHA256_BYTES];

    request->token =
        cookie_token(request->headers.cookie.at, request->headers.cookie.n, request->http.is_https);
    if (request->token.p == NULL)
        return;
    crypto_sha256(request->token, digest);
    hex_write(digest, sizeof(digest), request->token_hash);
}

static void begin_data(struct dashboard_request *request, struct str method, struct str path)
{
    enum outcome outcome;

    action_find(method, path, &request->match);
    if (request->match.end == ACTION_UNKNOWN) {
        dashboard_response_refusal(&request->http, OUTCOME_NOT_FOUND, NULL);
        return;
    }
    if (request->match.end == ACTION_NO_METHOD) {
        dashboard_response_no_method(&request->http, request->match.allow);
        return;
    }
    request->http.span.name = request->match.action->path;
    read_token(request);
    outcome = judge(request);
    note_foreign(request, outcome);
    if (outcome != OUTCOME_OK)
        refuse(request, outcome);
    else if (request->match.action->kind == ACTION_SIGN_IN)
        perform(request);
    else if (enter_session(request) && !dashboard_request_check(request, on_checked))
        dashboard_response_refusal(&request->http, OUTCOME_UNAVAILABLE, NULL);
}

/* -- files ----------------------------------------------------------------------------------- */

static void begin_asset(struct dashboard_request *request, struct str method, struct str path)
{
    const struct asset *asset = asset_find(path);

    if (asset == NULL)
        dashboard_response_refusal(&request->http, OUTCOME_NOT_FOUND, NULL);
    else if (!str_equal(method, STR("GET")) && !str_equal(method, STR("HEAD")))
        dashboard_response_no_method(&request->http, "GET, HEAD");
    else
        dashboard_response_asset(&request->http, asset, request->headers.accept_encoding.value,
                                 request->headers.if_none_match.value);
}

/* -- beginning and end ----------------------------------------------------------------------- */

static void on_end(struct edge_request *http)
{
    struct dashboard_request *request =
        H2O_STRUCT_FROM_MEMBER(struct dashboard_request, http, http);
    h2o_iovec_t *entity = &http->req->entity;

    /* The body may hold a password, however the request ended. */
    if (entity->len > 0)
        crypto_wipe(entity->base, entity->len);
    dashboard_export_release(request->export);
    door_abandon(&request->place);
    (void)deployment_leave(&request->services);
    share_leave(request->session_share);
    share_leave(request->organization_share);
    share_leave(request->change_share);
    identity_release(&request->who);
    json_free(request->view);
    bus_message_free(request->reply);
}

/* A request that is late and waits for neither a command nor the services waits at the door. */
static void on_late(struct edge_request *http)
{
    struct dashboard_request *request =
        H2O_STRUCT_FROM_MEMBER(struct dashboard_request, http, http);

    if (backend_give_up(request))
        return;
    if (deployment_leave(&request->services)) {
        on_services(&request->services, false);
        return;
    }
    door_leave(&request->place);
    on_turn(&request->place, false);
}

int dashboard_request_begin(h2o_handler_t *handler, h2o_req_t *req)
{
    struct edge_request *http = edge_request_begin(req, sizeof(struct dashboard_request), on_end);
    struct dashboard_request *request =
        H2O_STRUCT_FROM_MEMBER(struct dashboard_request, http, http);
    struct str method = {req->input.method.base, req->input.method.len};
    struct str path;

    edge_request_limit(http, EDGE_REQUEST_LIMIT_COMMAND, on_late);
    edge_request_read(http, &request->headers);
    http->span.name = "page";
    if (http->fault != FRAMING_SOUND) {
        dashboard_response_fault(http);
        return 0;
    }
    request->query = (struct str){req->input.path.base, req->input.path.len};
    path = str_cut(&request->query, '?');
    if (http->edge->requests > DASHBOARD_REQUESTS_MAX)
        dashboard_response_refusal(http, OUTCOME_BUSY, NULL);
    else if (str_starts(path, STR("/data/")))
        begin_data(request, method, path);
    else
        begin_asset(request, method, path);
    return 0;
}
