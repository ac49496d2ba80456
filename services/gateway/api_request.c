#include "services/gateway/api_request.h"

#include "common/base/clock.h"
#include "common/crypto/crypto.h"
#include "common/http/request_headers.h"
#include "common/json/json.h"
#include "proto/headers.h"
#include "services/gateway/api_auth.h"
#include "services/gateway/api_response.h"
#include "services/gateway/familiar.h"
#include "services/gateway/gateway_metrics.h"
#include "services/gateway/key_cache.h"
#include "services/gateway/key_lookup.h"
#include "services/gateway/key_usage.h"

/* Most causes of a 503 are over within a second: a restarting program, a full mailbox. */
enum { UNAVAILABLE_WAIT_S = 1 };

/* -- moves ----------------------------------------------------------------------------------- */

void api_request_end(struct api_request *request, enum outcome outcome, struct str body,
                     enum stage stage)
{
    request->outcome = outcome;
    request->body = body;
    api_request_move(request, stage);
}

/* Ends a request that has no accepted key: it is not recorded. */
static void refuse(struct api_request *request, enum outcome outcome)
{
    api_request_end(request, outcome, STR_NONE, STAGE_RESPONDED);
}

bool api_request_park(struct api_request *request)
{
    if (!calls_may_wait(&request->http.edge->calls))
        return false;
    metric_add(gateway_metrics.parked, 1);
    wait_list_add(&request->wait_entry, &request->gateway->parked);
    return true;
}

/* -- authenticate ---------------------------------------------------------------------------- */

static void refuse_key(struct api_request *request, enum outcome outcome, const char *reason)
{
    char client[ADDRESS_TEXT];

    address_format(&request->http.client, client);
    metric_add(gateway_metrics.auth_failures, 1);
    LOG(LOG_INFO, "authentication failed", log_str("request_id", request->http.id),
        log_trace(str_of(request->http.traceparent)), log_str("client", client),
        log_str("reason", reason));
    if (throttle_note(request->gateway->throttle, &request->http.client, clock_mono_us()))
        LOG(LOG_WARNING,
            "too many failed authentications from the address or its network; refused until the "
            "minute ends",
            log_str("client", client));
    refuse(request, outcome);
}

/* True: the address failed too often and the request has been refused. */
static bool refuse_address(struct api_request *request)
{
    request->retry_after =
        throttle_wait(request->gateway->throttle, &request->http.client, request->http.started_us);
    if (request->retry_after == 0)
        return false;
    request->message =
        "Too many requests from your address, or its network, failed to authenticate; "
        "wait for the time given in the Retry-After header";
    metric_add(gateway_metrics.auth_throttled, 1);
    refuse(request, OUTCOME_RATE_LIMITED);
    return true;
}

static void accept_key(struct api_request *request)
{
    request->key->used_s = clock_us() / 1000000;
    familiar_note(request->gateway->familiar, &request->http.client, request->http.started_us);
    api_request_move(request, STAGE_QUOTA);
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

/* True: this key is not looked up now and the request has been refused. */
static bool withhold_lookup(struct api_request *request)
{
    if (key_lookup_may_ask(request->gateway, request->key, standing_of(request)))
        return false;
    refuse(request, OUTCOME_BUSY);
    return true;
}

/* The next step, either without asking access or after its answer. */
static void use_key(struct api_request *request, enum key_result result)
{
    switch (result) {
    case KEY_GOOD_ASK:
        key_lookup_refresh(request->gateway, request->key);
        accept_key(request);
        return;
    case KEY_GOOD:
        accept_key(request);
        return;
    case KEY_BAD:
        if (!refuse_address(request))
            refuse_key(request, OUTCOME_UNAUTHORIZED, "key unknown, revoked or expired");
        return;
    case KEY_ASK:
    case KEY_OUT_OF_REACH:
        if (!api_request_park(request))
            refuse(request, OUTCOME_UNAVAILABLE);
    }
}

static enum key_result check_key(const struct api_request *request, bool can_ask)
{
    return key_check(request->key, clock_mono_us(), clock_us() / 1000000, can_ask);
}

static void run_authenticate(struct api_request *request)
{
    struct key *key = request->key;
    enum key_result result = check_key(request, calls_can_start(&request->gateway->edge.calls));

    if (result == KEY_ASK) {
        /* Failures of others behind its address do not stop the lookup of a key that was valid
           recently. */
        if (key->state != KEY_KNOWN && (refuse_address(request) || withhold_lookup(request)))
            return;
        if (key_lookup_wait(request->gateway, key, &request->wait_entry))
            return;
        result = check_key(request, false);
    }
    use_key(request, result);
}

static void late_authenticate(struct api_request *request)
{
    refuse(request, OUTCOME_UNAVAILABLE);
}

/* -- check ----------------------------------------------------------------------------------- */

/* The response to a ping, which needs no service. */
static struct str ping(struct api_request *request)
{
    const struct key_record *record = &request->key->record;
    struct buf buf;

    buf_init(&buf, &request->http.arena, 256);
    buf_char(&buf, '{');
    json_add_text(&buf, "type", STR("ping"));
    json_add_text(&buf, "organization_id", str_of(record->organization_id));
    json_add_text(&buf, "scope", record->may_write ? STR("full") : STR("read"));
    json_add_integer(&buf, "server_time", clock_us() / 1000000);
    buf_char(&buf, '}');
    return buf_str(&buf);
}

static void run_check(struct api_request *request)
{
    const struct facts facts = {
        .record = &request->key->record,
        .route = &request->route,
        .client = request->http.client,
        .is_https = request->http.is_https,
        .over_limit = request->is_over_limit,
        .accepts_json = request->accepts_json,
        .sends_json = request->media_error == NULL,
        .too_large = request->http.fault == FRAMING_BODY_TOO_LARGE,
    };
    const enum outcome outcome = checks_run(&facts);

    if (outcome == OUTCOME_UNSUPPORTED_MEDIA)
        request->message = request->media_error;
    if (outcome != OUTCOME_OK)
        api_request_end(request, outcome, STR_NONE, STAGE_RECORD);
    else if (request->route.subject == NULL)
        api_request_end(request, OUTCOME_OK, ping(request), STAGE_RECORD);
    else
        api_request_move(request, STAGE_COMMAND);
}

/* -- the response ---------------------------------------------------------------------------- */

/* The framing was faulty, so nothing else in the request can be trusted. */
static bool is_unsound(const struct api_request *request)
{
    return request->http.fault != FRAMING_SOUND && request->http.fault != FRAMING_BODY_TOO_LARGE;
}

static int status_of(const struct api_request *request)
{
    return is_unsound(request) ? framing_status(request->http.fault)
                               : outcome_http_status(request->outcome);
}

/* The outcome's message, or a more specific one. */
static const char *message_of(struct api_request *request)
{
    char client[ADDRESS_TEXT];

    if (is_unsound(request))
        return framing_message(request->http.fault);
    if (request->message != NULL)
        return request->message;
    if (request->outcome == OUTCOME_RATE_LIMITED && request->has_view && !request->view.is_of_key)
        return "Too many requests with all API keys of the organization; wait for the time given "
               "in the Retry-After header";
    if (request->outcome != OUTCOME_IP_NOT_ALLOWED)
        return api_response_message(request->outcome);
    address_format(&request->http.client, client);
    return arena_printf(&request->http.arena,
                        "The organization does not allow requests from %s; its owner or admin can "
                        "add it to the allowlist",
                        client);
}

static struct str body_of(struct api_request *request)
{
    if (request->body.n > 0)
        return request->body;
    return response_error(&request->http, request->outcome, message_of(request), NULL);
}

/* Seconds until the window ends, at least 1. */
static unsigned window_left_s(const struct api_request *request)
{
    int64_t left_s = request->view.reset_s - clock_us() / 1000000;

    return left_s > 1 ? (unsigned)left_s : 1;
}

/* Seconds for Retry-After; 0: none. */
static unsigned wait_of(const struct api_request *request, int status)
{
    if (request->outcome == OUTCOME_RATE_LIMITED && request->has_view)
        return window_left_s(request);
    return status == 503 ? UNAVAILABLE_WAIT_S : request->retry_after;
}

/* Checked, since it becomes part of a header. */
static struct str created_of(const struct api_request *request)
{
    struct uuid id;
    const struct str text = request->outcome == OUTCOME_CREATED
                                ? bus_message_header(request->reply, HEADER_RESOURCE)
                                : STR_NONE;

    return uuid_parse(text, &id) ? text : STR_NONE;
}

static void log_response(const struct api_request *request, int status)
{
    const struct log_field own[] = {
        log_str("operation", operation_name(request->route.operation)),
        log_str("outcome", outcome_name(request->outcome)),
        log_str("organization_id",
                request->key != NULL ? request->key->record.organization_id : NULL),
    };
    const struct edge_options *options = request->http.edge->options;
    /* Refused on arrival because of overload: counted, not logged one by one. */
    const bool is_shed = request->outcome == OUTCOME_BUSY && !request->has_view;

    if (!is_shed || options->logs_all || options->logs_access)
        response_log(&request->http, status, own, ARRAY_SIZE(own));
}

static void end_span(struct api_request *request, int status)
{
    struct span *span = &request->http.span;

    if (!span->context.is_sampled)
        return;
    span->name =
        request->route.operation != OP_NONE ? operation_name(request->route.operation) : "outside";
    span->outcome = outcome_name(request->outcome);
    if (request->key != NULL)
        (void)uuid_parse(str_of(request->key->record.organization_id), &span->organization_id);
    edge_request_end_span(&request->http, status);
}

static void run_responded(struct api_request *request)
{
    const enum outcome outcome = request->outcome;
    const int64_t took_us = clock_mono_us() - request->http.started_us;
    const int status = status_of(request);
    const struct api_response response = {
        .status = status,
        .body = body_of(request),
        .view = request->has_view ? &request->view : NULL,
        .replayed = outcome == OUTCOME_REPLAYED,
        .created = created_of(request),
        .allow = outcome == OUTCOME_METHOD_NOT_ALLOWED ? request->route.allow : NULL,
        .retry_after = wait_of(request, status),
    };

    gateway_metrics_count(request->route.operation, status, took_us);
    log_response(request, status);
    end_span(request, status);
    if (request->has_view)
        key_usage_count(request->gateway, request->key, status, took_us);
    api_response_send(&request->http, &response);
}

/* -- the table ------------------------------------------------------------------------------- */

#define TO(stage) (1u << (stage))

static const struct {
    unsigned moves;                            /* allowed next stages */
    void (*run)(struct api_request *request);  /* on entry and on resume */
    void (*late)(struct api_request *request); /* out of time; NULL: the stage never waits */
} stages[] = {
    [STAGE_AUTHENTICATE] = {TO(STAGE_QUOTA) | TO(STAGE_RESPONDED), run_authenticate,
                            late_authenticate},
    [STAGE_QUOTA] = {TO(STAGE_CHECK) | TO(STAGE_RECORD) | TO(STAGE_DROPPED), api_quota_run,
                     api_quota_late},
    [STAGE_CHECK] = {TO(STAGE_COMMAND) | TO(STAGE_RECORD), run_check, NULL},
    [STAGE_COMMAND] = {TO(STAGE_RECORD) | TO(STAGE_RESPONDED), api_command_run, api_command_late},
    [STAGE_RECORD] = {TO(STAGE_RESPONDED), api_command_record, api_command_record_late},
    [STAGE_RESPONDED] = {0, run_responded, NULL},
    [STAGE_DROPPED] = {0, api_quota_drop, NULL},
};

void api_request_move(struct api_request *request, enum stage stage)
{
    must((stages[request->stage].moves & TO(stage)) != 0);
    request->stage = stage;
    stages[stage].run(request);
}

static void on_resume(struct wait_entry *entry)
{
    struct api_request *request = H2O_STRUCT_FROM_MEMBER(struct api_request, wait_entry, entry);

    stages[request->stage].run(request);
}

static void on_late(struct edge_request *http)
{
    struct api_request *request = H2O_STRUCT_FROM_MEMBER(struct api_request, http, http);

    if (!request->is_late) {
        request->is_late = true;
        edge_request_limit(http, EDGE_REQUEST_LIMIT_RECORD, on_late);
        if (request->stage == STAGE_RECORD)
            return; /* RECORD may use the rest of the time */
    }
    must(stages[request->stage].late != NULL);
    list_remove(&request->wait_entry.link);
    stages[request->stage].late(request);
}

/* -- the beginning and the end --------------------------------------------------------------- */

static void on_end(struct edge_request *http)
{
    struct api_request *request = H2O_STRUCT_FROM_MEMBER(struct api_request, http, http);

    list_remove(&request->wait_entry.link);
    api_quota_leave(request);
    bus_message_free(request->reply);
    if (request->key != NULL)
        key_cache_put(request->gateway->keys, request->key);
}

static void begin_with_key(struct api_request *request, struct str token)
{
    uint8_t hash[SHA256_BYTES];

    token_hash(token, hash);
    request->key = key_cache_get(request->gateway->keys, hash);
    metric_add(
        request->key->state == KEY_NEW ? gateway_metrics.key_misses : gateway_metrics.key_hits, 1);
    run_authenticate(request);
}

static void read_authorization(struct api_request *request, const struct request_header *header)
{
    struct str token;

    switch (authorization_read(header->value, header->n, &token)) {
    case AUTHORIZATION_TOKEN:
        begin_with_key(request, token);
        return;
    case AUTHORIZATION_LEGACY:
        if (!refuse_address(request))
            refuse_key(request, OUTCOME_LEGACY_KEY, "retired kind of key");
        return;
    case AUTHORIZATION_MISSING:
    case AUTHORIZATION_MALFORMED:
        break;
    }
    if (refuse_address(request))
        return;
    request->message = header->n == 0
                           ? "There is no Authorization header; send the API key as "
                             "Authorization: Bearer KEY"
                           : "The Authorization header holds no well-formed API key; send it as "
                             "Authorization: Bearer KEY";
    refuse_key(request, OUTCOME_UNAUTHORIZED, header->n == 0 ? "no key" : "malformed key");
}

static void read_request(struct api_request *request, const struct request_headers *headers)
{
    const h2o_req_t *req = request->http.req;

    request->route = api_route_find((struct str){req->input.method.base, req->input.method.len},
                                    (struct str){req->input.path.base, req->input.path.len});
    request->accepts_json = media_accepts_json(headers->accept.at, headers->accept.n);
    request->media_error = media_body_error(headers);
}

int api_request_begin(h2o_handler_t *handler, h2o_req_t *req)
{
    struct edge_request *http = edge_request_begin(req, sizeof(struct api_request), on_end);
    struct api_request *request = H2O_STRUCT_FROM_MEMBER(struct api_request, http, http);
    struct request_headers headers;

    request->gateway = H2O_STRUCT_FROM_MEMBER(struct gateway, edge, http->edge);
    request->wait_entry.resume = on_resume;
    edge_request_limit(http, EDGE_REQUEST_LIMIT_COMMAND, on_late);
    edge_request_read(http, &headers);
    if (is_unsound(request)) {
        refuse(request, OUTCOME_PARAMETER_INVALID);
        return 0;
    }
    read_request(request, &headers);
    if (request->route.end == API_ROUTE_OUTSIDE)
        refuse(request, OUTCOME_NOT_FOUND);
    else if (http->edge->requests > API_REQUESTS_MAX)
        refuse(request, OUTCOME_BUSY);
    else
        read_authorization(request, &headers.authorization);
    return 0;
}
