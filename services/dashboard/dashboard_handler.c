#include "services/dashboard/dashboard_handler.h"

#include "common/base/clock.h"
#include "services/dashboard/backend.h"
#include "services/dashboard/dashboard_export.h"
#include "services/dashboard/dashboard_metrics.h"
#include "services/dashboard/dashboard_request.h"
#include "services/dashboard/dashboard_response.h"
#include "services/dashboard/dashboard_session.h"

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

/* -- data ------------------------------------------------------------------------------------ */

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
    enum outcome outcome = dashboard_session_learn(request, end, message);

    if (outcome == OUTCOME_UNAUTHORIZED)
        (void)throttle_note(dashboard_of(request)->strangers, &request->http.client,
                            clock_mono_us());
    if (outcome != OUTCOME_UNAVAILABLE)
        request->session_share->is_known = outcome != OUTCOME_UNAUTHORIZED;
    if (outcome != OUTCOME_OK)
        refuse(request, outcome);
    else if (dashboard_request_enter_organization(request))
        perform(request);
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
    outcome = dashboard_request_judge(request);
    if (outcome != OUTCOME_OK)
        refuse(request, outcome);
    else if (request->match.action->kind == ACTION_SIGN_IN)
        perform(request);
    else if (dashboard_request_enter_session(request) &&
             !dashboard_session_check(request, on_checked))
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

int dashboard_handle(h2o_handler_t *handler, h2o_req_t *req)
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
