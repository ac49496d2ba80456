/* Looks up keys in access: v1.access.authenticate. */

#include "services/gateway/key_lookup.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/ascii.h"
#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/json/json.h"
#include "proto/headers.h"
#include "proto/outcome.h"
#include "proto/subject.h"
#include "services/gateway/gateway.h"
#include "services/gateway/gateway_metrics.h"
#include "services/gateway/key_cache.h"
#include "services/gateway/wait_list.h"

#define WITHHELD_TELL_US 1000000
#define BODY_MAX         1024

/* -- the lookup budget ----------------------------------------------------------------------- */

#define PRICE_US (1000000 / LOOKUP_BUDGET_PER_SECOND)
#define MAX_US   ((int64_t)LOOKUP_BUDGET_MAX * PRICE_US)

/* How much of the budget each standing may use. */
static const int64_t max_us[] = {
    [STANDING_SUSPECT] = MAX_US / 2,
    [STANDING_STRANGER] = MAX_US / 4 * 3,
    [STANDING_FAMILIAR] = MAX_US,
};

bool lookup_budget_take(struct rate *budget, enum standing standing, int64_t mono_us)
{
    return rate_take(budget, PRICE_US, max_us[standing], mono_us) == 0;
}

void lookup_budget_refund(struct rate *budget)
{
    rate_refund(budget, PRICE_US);
}

/* -- lookups --------------------------------------------------------------------------------- */

static void ask(struct gateway *gateway, struct key *key);

/* Applies access's answer to the key. ST_OK: there was an answer; ST_RETRY: ask again. */
static enum status read_reply(struct key *key, struct bus_message *message)
{
    struct key_record record = {0};
    enum outcome outcome;

    if (!outcome_of(bus_message_header(message, HEADER_OUTCOME), &outcome))
        return ST_INTERNAL;
    if (outcome == OUTCOME_UNAUTHORIZED) {
        if (key_is_overtaken(key, NULL))
            return ST_RETRY;
        key_refuse(key);
        return ST_OK;
    }
    if (outcome != OUTCOME_OK || !key_record_read(bus_message_body(message), &record))
        return ST_UNAVAILABLE;
    if (key_is_overtaken(key, &record)) {
        key_record_release(&record);
        return ST_RETRY;
    }
    key_confirm(key, &record);
    return ST_OK;
}

/* If only the bus was down, access may be asked again right away. */
static void fail(struct key *key, bool for_want_of_bus)
{
    metric_add(gateway_metrics.lookups_failed, 1);
    if (!for_want_of_bus)
        key_unreachable(key, clock_mono_us());
}

/* Only a refusal costs budget. */
static void settle_budget(struct gateway *gateway, struct key *key)
{
    if (key->is_budgeted && key->state != KEY_REFUSED)
        lookup_budget_refund(&gateway->lookup_budget);
    key->is_budgeted = false;
}

static void on_end(void *owner, enum call_end end, struct bus_message *message)
{
    struct key *key = owner;
    struct gateway *gateway = key->gateway;
    enum status st = end == CALL_REPLIED ? read_reply(key, message) : ST_UNAVAILABLE;

    key->asking = false;
    if (st == ST_RETRY)
        ask(gateway, key);
    else if (st != ST_OK)
        fail(key, end == CALL_LOST);
    bus_message_free(message);
    if (!key->asking) {
        settle_budget(gateway, key);
        wait_list_resume(&key->waiting);
    }
    key_cache_put(gateway->keys, key);
}

static struct str body_of(const struct key *key, struct arena *arena)
{
    char hash[2 * SHA256_BYTES + 1];
    struct buf body;

    hex_write(key->hash, SHA256_BYTES, hash);
    buf_init(&body, arena, 128);
    buf_char(&body, '{');
    json_add_text(&body, "token_hash", str_of(hash));
    buf_char(&body, '}');
    return buf_str(&body);
}

static enum status start(struct gateway *gateway, struct key *key)
{
    struct call_request call = {
        .subject = SUBJECT_ACCESS_AUTHENTICATE, .on_end = on_end, .owner = key};
    struct arena arena;
    enum status st;

    arena_init(&arena, BODY_MAX);
    call.body = body_of(key, &arena);
    st = gateway_call(gateway, &call);
    arena_release(&arena);
    return st;
}

static void ask(struct gateway *gateway, struct key *key)
{
    metric_add(gateway_metrics.lookups, 1);
    if (start(gateway, key) != ST_OK) {
        fail(key, true);
        settle_budget(gateway, key);
        return;
    }
    key->gateway = gateway;
    key->asking = true;
    key->asked_us = clock_mono_us();
    key->overtaken_by[0] = '\0';
    key->overtaken_again = false;
    key_cache_hold(key);
}

void key_lookup_refresh(struct gateway *gateway, struct key *key)
{
    if (!key->asking)
        ask(gateway, key);
}

bool key_lookup_may_ask(struct gateway *gateway, struct key *key, enum standing standing)
{
    int64_t now_us = clock_mono_us();

    if (key->asking)
        return true;
    key->is_budgeted = lookup_budget_take(&gateway->lookup_budget, standing, now_us);
    if (key->is_budgeted)
        return true;
    metric_add(gateway_metrics.lookups_limited, 1);
    if (now_us - gateway->withheld_told_us > WITHHELD_TELL_US) {
        LOG(LOG_WARNING, "unknown-key lookups are rate limited");
        gateway->withheld_told_us = now_us;
    }
    return false;
}

bool key_lookup_wait(struct gateway *gateway, struct key *key, struct wait_entry *entry)
{
    key_lookup_refresh(gateway, key);
    if (key->asking)
        wait_list_add(entry, &key->waiting);
    return key->asking;
}

/* -- invalidations --------------------------------------------------------------------------- */

struct invalidation {
    h2o_multithread_message_t super;
    char organization_id[UUID_TEXT + 1];
};

void invalidation_post(void *gateway, struct bus_message *message)
{
    struct str id = bus_message_header(message, HEADER_ORGANIZATION);
    struct invalidation *invalidation;

    if (id.p == NULL || id.n != UUID_TEXT)
        return;
    invalidation = heap_zeroed(1, sizeof(*invalidation));
    memcpy(invalidation->organization_id, id.p, UUID_TEXT);
    h2o_multithread_send_message(&((struct gateway *)gateway)->invalidations, &invalidation->super);
}

/* Each notice costs a walk over all keys; consecutive notices about one organization need only
   one. */
void invalidation_deliver(h2o_multithread_receiver_t *invalidations, h2o_linklist_t *messages)
{
    struct gateway *gateway = H2O_STRUCT_FROM_MEMBER(struct gateway, invalidations, invalidations);
    char latest[UUID_TEXT + 1] = "";

    while (!h2o_linklist_is_empty(messages)) {
        struct invalidation *invalidation =
            H2O_STRUCT_FROM_MEMBER(struct invalidation, super.link, messages->next);

        h2o_linklist_unlink(&invalidation->super.link);
        if (strcmp(invalidation->organization_id, latest) != 0)
            key_cache_doubt(gateway->keys, str_of(invalidation->organization_id));
        memcpy(latest, invalidation->organization_id, sizeof(latest));
        free(invalidation);
    }
}
