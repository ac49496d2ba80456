/* An API request on its way from its key to its command: authentication, quota, checks. */

#include "services/gateway/api_auth.h"

#include "services/gateway/gateway.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/crypto/token.h"
#include "services/gateway/api_request.h"
#include "services/gateway/gateway_metrics.h"

/* -- checks ---------------------------------------------------------------------------------- */

static void ping(struct api_request *request)
{
    const struct key_record *record = &request->key->record;
    size_t capacity = 200;
    char *text = h2o_mem_alloc_pool(&request->http.req->pool, capacity);
    int n = snprintf(text, capacity,
                     "{\"type\":\"ping\",\"organization_id\":\"%s\",\"scope\":\"%s\","
                     "\"server_time\":%" PRId64 "}",
                     record->organization_id, record->may_write ? "full" : "read",
                     clock_us() / 1000000);

    request->body = (struct str){text, (size_t)n};
    request->outcome = OUTCOME_OK;
    api_request_record(request);
}

static void check(struct api_request *request, bool over_limit)
{
    struct facts facts = {
        .record = &request->key->record,
        .route = &request->route,
        .client = request->http.client,
        .is_https = request->http.is_https,
        .over_limit = over_limit,
        .accepts_json = request->accepts_json,
        .sends_json = request->sends_json,
        .too_large = request->http.fault == FRAMING_BODY_TOO_LARGE,
    };

    request->stage = STAGE_CHECK;
    request->outcome = checks_run(&facts);
    if (request->outcome != OUTCOME_OK)
        api_request_record(request);
    else if (request->route.subject != NULL)
        api_request_command(request);
    else
        ping(request);
}

/* -- quota ----------------------------------------------------------------------------------- */

static void take_quota(struct api_request *request)
{
    struct key *key = request->key;
    enum quota_result result;
    int64_t now_s = clock_us() / 1000000;

    request->stage = STAGE_QUOTA;
    result = quota_take(&key->quota, now_s, key->record.limits);
    if (result == QUOTA_ASK) {
        if (quota_lease_wait(request->gateway, key, &request->wait_entry))
            return;
        /* Access is unreachable: the quota counts alone now. */
        result = quota_take(&key->quota, now_s, key->record.limits);
    }
    if (quota_is_low(&key->quota))
        quota_lease_ahead(request->gateway, key);
    request->view = quota_view(&key->quota);
    request->has_view = true;
    check(request, result != QUOTA_TAKEN);
}

/* -- identity -------------------------------------------------------------------------------- */

static void refuse_key(struct api_request *request, enum outcome outcome, const char *reason)
{
    struct gateway *gateway = request->gateway;
    char client[ADDRESS_TEXT];

    address_format(&request->http.client, client);
    metric_add(gateway_metrics.auth_failures, 1);
    LOG(LOG_INFO, "authentication failed", log_str("request_id", request->http.id),
        log_trace(str_of(request->http.traceparent)), log_str("client", client),
        log_str("reason", reason));
    if (throttle_note(gateway->throttle, &request->http.client, clock_mono_us()))
        LOG(LOG_WARNING,
            "too many failed authentications from the address or its network; refused until the "
            "minute "
            "ends",
            log_str("client", client));
    api_request_respond_unaudited(request, outcome, 0);
}

/* True: the address failed too often and has been told so. */
static bool refuse_address(struct api_request *request)
{
    unsigned wait =
        throttle_wait(request->gateway->throttle, &request->http.client, request->http.started_us);

    if (wait == 0)
        return false;
    metric_add(gateway_metrics.auth_throttled, 1);
    api_request_respond_unaudited(request, OUTCOME_RATE_LIMITED, wait);
    return true;
}

static void authenticate(struct api_request *request, bool can_ask);

static void accept_key(struct api_request *request)
{
    request->key->used_s = clock_us() / 1000000;
    familiar_note(request->gateway->familiar, &request->http.client, request->http.started_us);
    take_quota(request);
}

static enum standing standing_of(const struct api_request *request)
{
    const struct address *client = &request->http.client;

    if (throttle_suspects(request->gateway->throttle, client, request->http.started_us))
        return STANDING_SUSPECT;
    return familiar_holds(request->gateway->familiar, client, request->http.started_us)
               ? STANDING_FAMILIAR
               : STANDING_STRANGER;
}

/* True: this key is not looked up now, and the client has been told so. */
static bool withhold_lookup(struct api_request *request)
{
    if (key_lookup_may_ask(request->gateway, request->key, standing_of(request)))
        return false;
    api_request_respond_unaudited(request, OUTCOME_BUSY, 0);
    return true;
}

static void await_key(struct api_request *request)
{
    /* A key that was valid recently is looked up again, even if others failed behind its
       address. */
    if (request->key->state != KEY_KNOWN && (refuse_address(request) || withhold_lookup(request)))
        return;
    if (!key_lookup_wait(request->gateway, request->key, &request->wait_entry))
        authenticate(request, false);
}

static void authenticate(struct api_request *request, bool can_ask)
{
    switch (key_check(request->key, clock_mono_us(), clock_us() / 1000000, can_ask)) {
    case KEY_GOOD_ASK:
        key_lookup_refresh(request->gateway, request->key);
        accept_key(request);
        return;
    case KEY_GOOD:
        accept_key(request);
        return;
    case KEY_ASK:
        await_key(request);
        return;
    case KEY_BAD:
        if (!refuse_address(request))
            refuse_key(request, OUTCOME_UNAUTHORIZED, "key unknown, revoked or expired");
        return;
    case KEY_OUT_OF_REACH:
        break;
    }
    if (!api_request_park(request))
        api_request_respond_unaudited(request, OUTCOME_UNAVAILABLE, 0);
}

static void begin(struct api_request *request)
{
    authenticate(request, calls_can_start(&request->gateway->edge.calls));
}

void api_request_authenticate(struct api_request *request, const struct api_headers *headers)
{
    uint8_t hash[SHA256_BYTES];
    struct str token;

    switch (authorization_read(headers->authorization, headers->n_authorization, &token)) {
    case AUTHORIZATION_TOKEN:
        token_hash(token, hash);
        request->key = key_cache_get(request->gateway->keys, hash);
        metric_add(request->key->state == KEY_NEW ? gateway_metrics.key_misses
                                                  : gateway_metrics.key_hits,
                   1);
        begin(request);
        return;
    case AUTHORIZATION_LEGACY:
        if (!refuse_address(request))
            refuse_key(request, OUTCOME_LEGACY_KEY, "retired kind of key");
        return;
    case AUTHORIZATION_MISSING:
    case AUTHORIZATION_MALFORMED:
        break;
    }
    if (!refuse_address(request))
        refuse_key(request, OUTCOME_UNAUTHORIZED,
                   headers->n_authorization == 0 ? "no key" : "malformed key");
}

void api_request_resume(struct wait_entry *entry)
{
    struct api_request *request = H2O_STRUCT_FROM_MEMBER(struct api_request, wait_entry, entry);

    switch (request->stage) {
    case STAGE_QUOTA:
        take_quota(request);
        return;
    case STAGE_COMMAND:
        api_request_command(request);
        return;
    case STAGE_RECORD:
        api_request_record(request);
        return;
    default:
        begin(request);
    }
}

enum authorization authorization_read(struct str value, size_t n, struct str *token)
{
    struct str scheme, rest = value;

    if (n == 0)
        return AUTHORIZATION_MISSING;
    if (n > 1)
        return AUTHORIZATION_MALFORMED;
    scheme = str_cut(&rest, ' ');
    if (!str_equal_nocase(scheme, STR("bearer")) || rest.p == NULL)
        return AUTHORIZATION_MALFORMED;
    switch (token_classify(rest)) {
    case TOKEN_LIVE:
    case TOKEN_READ:
        *token = rest;
        return AUTHORIZATION_TOKEN;
    case TOKEN_LEGACY:
        return AUTHORIZATION_LEGACY;
    case TOKEN_MALFORMED:
        break;
    }
    return AUTHORIZATION_MALFORMED;
}

static enum outcome check_route(enum api_route_end end)
{
    switch (end) {
    case API_ROUTE_FOUND:
        return OUTCOME_OK;
    case API_ROUTE_NO_METHOD:
        return OUTCOME_METHOD_NOT_ALLOWED;
    case API_ROUTE_UNKNOWN:
    case API_ROUTE_OUTSIDE:
        break;
    }
    return OUTCOME_NOT_FOUND;
}

enum outcome checks_run(const struct facts *facts)
{
    const struct key_record *record = facts->record;
    const struct api_route *route = facts->route;
    enum outcome outcome;

    if (!record->plan_has_api)
        return OUTCOME_API_PLAN_RESTRICTED;
    if (record->require_https && !facts->is_https)
        return OUTCOME_HTTPS_REQUIRED;
    if (record->ip_allowlist_enabled && !key_record_lists(record, &facts->client))
        return OUTCOME_IP_NOT_ALLOWED;
    if (facts->over_limit)
        return OUTCOME_RATE_LIMITED;
    outcome = check_route(route->end);
    if (outcome != OUTCOME_OK)
        return outcome;
    if (!facts->accepts_json)
        return OUTCOME_NOT_ACCEPTABLE;
    if (route->writes && !record->may_write)
        return OUTCOME_INSUFFICIENT_SCOPE;
    if (route->has_body && !facts->sends_json)
        return OUTCOME_UNSUPPORTED_MEDIA;
    return facts->too_large ? OUTCOME_PAYLOAD_TOO_LARGE : OUTCOME_OK;
}
