/* The way of an exchange from its key to its command: who asks, may they, shall they. */
#include <inttypes.h>
#include <stdio.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/crypto/token.h"
#include "services/gateway/authorization.h"
#include "services/gateway/exchange.h"
#include "services/gateway/meter.h"

/* -- checks ---------------------------------------------------------------------------------- */

static void ping(struct exchange *x)
{
    const struct key_record *record = &x->key->record;
    size_t room = 200;
    char *text = h2o_mem_alloc_pool(&x->visit.req->pool, room);
    int n = snprintf(text, room,
                     "{\"type\":\"ping\",\"organization_id\":\"%s\",\"scope\":\"%s\","
                     "\"server_time\":%" PRId64 "}",
                     record->organization_id, record->may_write ? "full" : "read",
                     clock_us() / 1000000);

    x->body = (struct str){text, (size_t)n};
    x->outcome = OUTCOME_OK;
    exchange_record(x);
}

static void check(struct exchange *x, bool over_limit)
{
    struct facts facts = {
        .record = &x->key->record,
        .route = &x->route,
        .client = x->visit.client,
        .is_https = x->visit.is_https,
        .over_limit = over_limit,
        .accepts_json = x->accepts_json,
        .sends_json = x->sends_json,
        .too_large = x->visit.fault == FRAMING_BODY_TOO_LARGE,
    };

    x->stage = STAGE_CHECK;
    x->outcome = checks_judge(&facts);
    if (x->outcome != OUTCOME_OK)
        exchange_record(x);
    else if (x->route.subject != NULL)
        exchange_command(x);
    else
        ping(x);
}

/* -- quota ----------------------------------------------------------------------------------- */

static void admit(struct exchange *x)
{
    struct key *key = x->key;
    enum quota_verdict verdict;
    int64_t now_s = clock_us() / 1000000;

    x->stage = STAGE_ADMIT;
    verdict = quota_take(&key->quota, now_s, key->record.limits);
    if (verdict == QUOTA_ASK) {
        if (lease_wait(x->gateway, key, &x->waiter))
            return;
        /* Access is out of reach: the quota counts alone now. */
        verdict = quota_take(&key->quota, now_s, key->record.limits);
    }
    if (quota_is_low(&key->quota))
        lease_ahead(x->gateway, key);
    x->view = quota_view(&key->quota);
    x->has_view = true;
    check(x, verdict != QUOTA_TAKEN);
}

/* -- identity -------------------------------------------------------------------------------- */

static void refuse_key(struct exchange *x, enum outcome outcome, const char *reason)
{
    struct gateway *gateway = x->gateway;
    char client[ADDRESS_TEXT];

    address_format(&x->visit.client, client);
    metric_add(meter.auth_failures, 1);
    LOG(LOG_INFO, "authentication failed", log_str("request_id", x->visit.id),
        log_trace(str_of(x->visit.traceparent)), log_str("client", client),
        log_str("reason", reason));
    if (throttle_note(gateway->throttle, &x->visit.client, clock_mono_us()))
        LOG(LOG_WARNING, "address failed to authenticate too often; refused until the minute ends",
            log_str("client", client));
    exchange_answer_plainly(x, outcome, 0);
}

/* True: the address failed too often and has been told so. */
static bool refuse_address(struct exchange *x)
{
    unsigned wait = throttle_wait(x->gateway->throttle, &x->visit.client, x->visit.started_us);

    if (wait == 0)
        return false;
    metric_add(meter.auth_throttled, 1);
    exchange_answer_plainly(x, OUTCOME_RATE_LIMITED, wait);
    return true;
}

static void identify(struct exchange *x);

static void accept_key(struct exchange *x)
{
    x->key->used_s = clock_us() / 1000000;
    admit(x);
}

/* True: this key is not looked up now, and the client has been told so. */
static bool withhold_lookup(struct exchange *x)
{
    bool suspect = throttle_suspects(x->gateway->throttle, &x->visit.client, x->visit.started_us);

    if (lookup_may_ask(x->gateway, x->key, suspect))
        return false;
    exchange_answer_plainly(x, OUTCOME_BUSY, 0);
    return true;
}

static void await_key(struct exchange *x)
{
    /* A key that was good lately is asked about again, whoever else failed behind its address. */
    if (x->key->state != KEY_KNOWN && (refuse_address(x) || withhold_lookup(x)))
        return;
    if (!lookup_wait(x->gateway, x->key, &x->waiter))
        identify(x);
}

static void identify(struct exchange *x)
{
    switch (key_judge(x->key, clock_mono_us(), clock_us() / 1000000)) {
    case KEY_GOOD_ASK:
        lookup_refresh(x->gateway, x->key);
        accept_key(x);
        return;
    case KEY_GOOD:
        accept_key(x);
        return;
    case KEY_ASK:
        await_key(x);
        return;
    case KEY_BAD:
        if (!refuse_address(x))
            refuse_key(x, OUTCOME_UNAUTHORIZED, "key unknown, revoked or expired");
        return;
    case KEY_OUT_OF_REACH:
        break;
    }
    exchange_answer_plainly(x, OUTCOME_UNAVAILABLE, 0);
}

void exchange_authorize(struct exchange *x, const struct head *head)
{
    uint8_t hash[SHA256_BYTES];
    struct str token;

    switch (authorization_read(head->authorization, head->n_authorization, &token)) {
    case AUTHORIZATION_TOKEN:
        token_hash(token, hash);
        x->key = key_cache_get(x->gateway->keys, hash);
        metric_add(x->key->state == KEY_NEW ? meter.key_misses : meter.key_hits, 1);
        identify(x);
        return;
    case AUTHORIZATION_LEGACY:
        if (!refuse_address(x))
            refuse_key(x, OUTCOME_LEGACY_KEY, "retired kind of key");
        return;
    case AUTHORIZATION_MISSING:
    case AUTHORIZATION_MALFORMED:
        break;
    }
    if (!refuse_address(x))
        refuse_key(x, OUTCOME_UNAUTHORIZED,
                   head->n_authorization == 0 ? "no key" : "malformed key");
}

void exchange_resume(struct waiter *waiter)
{
    struct exchange *x = H2O_STRUCT_FROM_MEMBER(struct exchange, waiter, waiter);

    switch (x->stage) {
    case STAGE_ADMIT:
        admit(x);
        return;
    case STAGE_COMMAND:
        exchange_command(x);
        return;
    case STAGE_RECORD:
        exchange_record(x);
        return;
    default:
        identify(x);
    }
}
