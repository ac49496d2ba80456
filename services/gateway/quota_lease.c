/* May it go on: v1.access.quota. */
#include <inttypes.h>
#include <stdio.h>

#include "common/base/clock.h"
#include "proto/headers.h"
#include "proto/outcome.h"
#include "proto/subject.h"
#include "services/gateway/count.h"
#include "services/gateway/gateway_metrics.h"
#include "services/gateway/key_lookup.h"

static enum status read_reply(struct key *key, struct bus_message *message)
{
    struct quota_limits left;
    enum outcome outcome;
    char error[160];
    uint32_t granted;
    json_t *object;
    bool good;

    if (!outcome_of(bus_message_header(message, HEADER_OUTCOME), &outcome) ||
        outcome != OUTCOME_OK || !json_read(bus_message_body(message), &object, error))
        return ST_UNAVAILABLE;
    good = count_read(object, "granted", &granted) && count_read(object, "key_left", &left.key) &&
           count_read(object, "organization_left", &left.organization);
    json_free(object);
    if (!good)
        return ST_INTERNAL;
    quota_grant(&key->quota, key->lease_window, granted, left);
    return ST_OK;
}

static void fail(struct key *key)
{
    key->n_short_of = 0;
    metric_add(gateway_metrics.leases_failed, 1);
    quota_unreachable(&key->quota);
}

static void on_end(void *owner, enum call_end end, struct bus_message *message)
{
    struct key *key = owner;
    struct gateway *gateway = key->gateway;

    key->leasing = false;
    key->n_short_of = 0;
    if (end != CALL_REPLIED || read_reply(key, message) != ST_OK)
        fail(key);
    bus_message_free(message);
    wait_list_resume(&key->short_of);
    key_cache_put(gateway->keys, key);
}

static void ask(struct gateway *gateway, struct key *key, uint32_t waiting)
{
    char id[UUID_TEXT + 1], body[160];
    struct uuid request_id = uuid_v7(clock_us());
    struct bus_header headers[CALL_HEADERS_MAX] = {
        {HEADER_REQUEST_ID, id},
        {HEADER_ORGANIZATION, key->record.organization_id},
        {HEADER_API_KEY, key->record.api_key_id},
    };
    const struct quota *quota = &key->quota;
    uint64_t handle;

    uuid_format(&request_id, id);
    int n = snprintf(body, sizeof(body),
                     "{\"window\":%" PRId64 ",\"want\":%" PRIu32 ",\"key_limit\":%" PRIu32
                     ",\"organization_limit\":%" PRIu32 "}",
                     quota->window, quota_want(quota, waiting), quota->limits.key,
                     quota->limits.organization);
    struct call_request request = {.subject = SUBJECT_ACCESS_QUOTA,
                                   .headers = headers,
                                   .n_headers = 3,
                                   .body = {body, (size_t)n},
                                   .timeout = CALL_TIMEOUT_SHORT,
                                   .on_end = on_end,
                                   .owner = key};

    metric_add(gateway_metrics.leases, 1);
    if (calls_start(&gateway->edge.calls, &request, &handle) != ST_OK) {
        fail(key);
        return;
    }
    key->gateway = gateway;
    key->leasing = true;
    key->lease_window = quota->window;
    key_cache_hold(key);
}

void quota_lease_ahead(struct gateway *gateway, struct key *key)
{
    if (!key->leasing)
        ask(gateway, key, 0);
}

bool quota_lease_wait(struct gateway *gateway, struct key *key, struct wait_entry *entry)
{
    /* Access has just failed to answer who this is: it is not waited for again. */
    if (key->ask_again_us != 0) {
        fail(key);
        return false;
    }
    key->n_short_of++;
    if (!key->leasing)
        ask(gateway, key, key->n_short_of);
    if (key->leasing)
        wait_list_add(entry, &key->short_of);
    return key->leasing;
}
