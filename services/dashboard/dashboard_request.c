#include "services/dashboard/dashboard_request.h"

#include "common/base/ascii.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "services/dashboard/dashboard_metrics.h"
#include "services/dashboard/dashboard_response.h"

struct dashboard *dashboard_of(const struct dashboard_request *request)
{
    return H2O_STRUCT_FROM_MEMBER(struct dashboard, edge, request->http.edge);
}

/* -- origin ---------------------------------------------------------------------------------- */

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

enum outcome dashboard_request_judge(struct dashboard_request *request)
{
    enum outcome outcome;

    read_token(request);
    outcome = judge(request);
    note_foreign(request, outcome);
    return outcome;
}

/* -- shares ---------------------------------------------------------------------------------- */

bool dashboard_request_enter_session(struct dashboard_request *request)
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

bool dashboard_request_enter_organization(struct dashboard_request *request)
{
    return enter_organization(request) && enter_change(request);
}
