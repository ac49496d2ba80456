/* Asks access for leases: v1.access.quota. */

#include "services/gateway/quota_lease.h"

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/json/json.h"
#include "proto/headers.h"
#include "proto/outcome.h"
#include "proto/subject.h"
#include "services/gateway/gateway.h"
#include "services/gateway/gateway_metrics.h"
#include "services/gateway/key_cache.h"
#include "services/gateway/wait_list.h"

#define BODY_MAX 1024

bool quota_grant_read(struct str json, uint32_t *granted, struct quota_limits *left)
{
    struct quota_limits of_reply;
    uint32_t count;
    json_t *object;
    bool good;

    if (!json_read(json, &object, NULL))
        return false;
    good = json_member_count(object, "granted", &count) &&
           json_member_count(object, "key_left", &of_reply.key) &&
           json_member_count(object, "organization_left", &of_reply.organization);
    json_free(object);
    if (!good)
        return false;
    *granted = count;
    *left = of_reply;
    return true;
}

static bool read_reply(struct quota_account *account, struct bus_message *message)
{
    struct quota_limits left;
    enum outcome outcome;
    uint32_t granted;

    if (!outcome_of(bus_message_header(message, HEADER_OUTCOME), &outcome) ||
        outcome != OUTCOME_OK || !quota_grant_read(bus_message_body(message), &granted, &left))
        return false;
    quota_grant(&account->quota, account->lease_window, granted, left);
    return true;
}

static void fail(struct quota_account *account)
{
    account->n_short_of = 0;
    metric_add(gateway_metrics.leases_failed, 1);
    quota_unreachable(&account->quota);
}

static void on_end(void *owner, enum call_end end, struct bus_message *message)
{
    struct quota_account *account = owner;
    struct gateway *gateway = account->key->gateway;

    account->leasing = false;
    account->n_short_of = 0;
    if (end != CALL_REPLIED || !read_reply(account, message))
        fail(account);
    bus_message_free(message);
    wait_list_resume(&account->short_of);
    key_cache_put(gateway->keys, account->key);
}

static struct str body_of(const struct quota_account *account, uint32_t waiting,
                          struct arena *arena)
{
    const struct quota *quota = &account->quota;
    struct buf body;

    buf_init(&body, arena, 128);
    buf_char(&body, '{');
    json_add_integer(&body, "window", quota->window);
    json_add_integer(&body, "want", quota_want(quota, waiting));
    json_add_integer(&body, "key_limit", quota->limits.key);
    json_add_integer(&body, "organization_limit", quota->limits.organization);
    if (account == &account->key->refusals)
        json_add_bool(&body, "refusals", true);
    buf_char(&body, '}');
    return buf_str(&body);
}

static enum status start(struct gateway *gateway, struct quota_account *account, uint32_t waiting)
{
    struct call_request call = {
        .subject = SUBJECT_ACCESS_QUOTA, .on_end = on_end, .owner = account};
    const struct key_record *record = &account->key->record;
    struct arena arena;
    enum status st;

    call_headers_add(&call.headers, HEADER_ORGANIZATION, record->organization_id);
    call_headers_add(&call.headers, HEADER_API_KEY, record->api_key_id);
    arena_init(&arena, BODY_MAX);
    call.body = body_of(account, waiting, &arena);
    st = gateway_call(gateway, &call);
    arena_release(&arena);
    return st;
}

static void ask(struct gateway *gateway, struct quota_account *account, uint32_t waiting)
{
    metric_add(gateway_metrics.leases, 1);
    if (start(gateway, account, waiting) != ST_OK) {
        fail(account);
        return;
    }
    account->key->gateway = gateway;
    account->leasing = true;
    account->lease_window = account->quota.window;
    key_cache_hold(account->key);
}

/* False: access cannot be asked now; the quota has switched to local counting. */
static bool wait_for_lease(struct gateway *gateway, struct quota_account *account,
                           struct wait_entry *entry)
{
    /* Access has just failed to answer for this key: do not wait for it again. */
    if (account->key->ask_again_us != 0) {
        fail(account);
        return false;
    }
    account->n_short_of++;
    if (!account->leasing)
        ask(gateway, account, account->n_short_of);
    if (account->leasing)
        wait_list_add(entry, &account->short_of);
    return account->leasing;
}

enum quota_result quota_use(struct gateway *gateway, struct quota_account *account,
                            struct wait_entry *entry)
{
    const struct key *key = account->key;
    const struct quota_limits limits =
        account == &key->refusals ? quota_refusals(key->record.limits) : key->record.limits;
    const int64_t now_s = clock_us() / 1000000;
    enum quota_result result = quota_take(&account->quota, now_s, limits);

    if (result == QUOTA_ASK) {
        if (wait_for_lease(gateway, account, entry))
            return QUOTA_ASK;
        result = quota_take(&account->quota, now_s, limits); /* which counts locally now */
    }
    if (quota_is_low(&account->quota) && !account->leasing)
        ask(gateway, account, 0);
    return result;
}
