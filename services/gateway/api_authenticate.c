#include "services/gateway/api_request.h"

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/crypto/crypto.h"
#include "services/gateway/api_auth.h"
#include "services/gateway/familiar.h"
#include "services/gateway/gateway_metrics.h"
#include "services/gateway/key_cache.h"
#include "services/gateway/key_lookup.h"

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
    api_request_refuse(request, outcome);
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
    api_request_refuse(request, OUTCOME_RATE_LIMITED);
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
    api_request_refuse(request, OUTCOME_BUSY);
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
            api_request_refuse(request, OUTCOME_UNAVAILABLE);
    }
}

static enum key_result check_key(const struct api_request *request, bool can_ask)
{
    return key_check(request->key, clock_mono_us(), clock_us() / 1000000, can_ask);
}

void api_authenticate_run(struct api_request *request)
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

void api_authenticate_late(struct api_request *request)
{
    api_request_refuse(request, OUTCOME_UNAVAILABLE);
}

static void begin_with_key(struct api_request *request, struct str token)
{
    uint8_t hash[SHA256_BYTES];

    token_hash(token, hash);
    request->key = key_cache_get(request->gateway->keys, hash);
    metric_add(
        request->key->state == KEY_NEW ? gateway_metrics.key_misses : gateway_metrics.key_hits, 1);
    api_authenticate_run(request);
}

void api_authenticate_begin(struct api_request *request, const struct request_header *header)
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
