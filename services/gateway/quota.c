/* Decides whether a key may make another request: v1.access.quota. */

#include "services/gateway/quota.h"

#include "common/base/buf.h"
#include "common/json/json.h"
#include "proto/headers.h"
#include "proto/outcome.h"
#include "proto/subject.h"
#include "services/gateway/gateway.h"

/* -- counting -------------------------------------------------------------------------------- */

/* A lease asks for a sixteenth of what is left: few requests to access while plenty is left, exact
   counting at the end. */
#define SHARE 16
/* A lease smaller than this is not renewed ahead of time: an unused share is lost to other
   gateways. */
#define AHEAD_MIN 8
#define BODY_MAX  1024

static uint32_t tighter(struct quota_limits limits)
{
    return limits.key < limits.organization ? limits.key : limits.organization;
}

/* A changed limit also restarts the window: grants under the old limit no longer apply. */
static void roll(struct quota *quota, int64_t now_s, struct quota_limits limits)
{
    int64_t window = now_s / QUOTA_WINDOW_SECONDS;

    if (window == quota->window && limits.key == quota->limits.key &&
        limits.organization == quota->limits.organization)
        return;
    *quota = (struct quota){.window = window, .limits = limits, .left = limits};
}

enum quota_result quota_take(struct quota *quota, int64_t now_s, struct quota_limits limits)
{
    roll(quota, now_s, limits);
    if (quota->leased > 0) {
        quota->leased--;
        quota->used++;
        return QUOTA_TAKEN;
    }
    return quota->over || quota->alone ? QUOTA_OVER : QUOTA_ASK;
}

bool quota_is_low(const struct quota *quota)
{
    return !quota->over && !quota->alone && quota->latest_grant >= AHEAD_MIN &&
           quota->leased < quota->latest_grant / 4 && tighter(quota->left) > 0;
}

uint32_t quota_want(const struct quota *quota, uint32_t waiting)
{
    uint32_t left = tighter(quota->left);
    uint32_t want = left / SHARE > waiting ? left / SHARE : waiting;

    if (want > left)
        want = left;
    return want > 0 ? want : 1;
}

void quota_grant(struct quota *quota, int64_t window, uint32_t granted, struct quota_limits left)
{
    if (window != quota->window)
        return;
    quota->leased += granted;
    quota->latest_grant = granted;
    quota->left = left;
    quota->over = granted == 0;
}

void quota_unreachable(struct quota *quota)
{
    uint32_t max = tighter(quota->limits);

    quota->alone = true;
    quota->leased = quota->used < max ? max - quota->used : 0;
    quota->left = (struct quota_limits){quota->limits.key - max, quota->limits.organization - max};
}

struct quota_view quota_view(const struct quota *quota)
{
    uint32_t key = quota->left.key + quota->leased;
    uint32_t organization = quota->left.organization + quota->leased;
    bool by_key = key <= organization;

    return (struct quota_view){
        .limit = by_key ? quota->limits.key : quota->limits.organization,
        .remaining = by_key ? key : organization,
        .reset_s = (quota->window + 1) * QUOTA_WINDOW_SECONDS,
        .is_of_key = by_key,
    };
}

/* -- leases ---------------------------------------------------------------------------------- */

bool quota_grant_read(struct str json, uint32_t *granted, struct quota_limits *left)
{
    struct quota_limits of_reply;
    uint32_t count;
    json_t *object;
    bool good;

    if (!json_read(json, &object, NULL))
        return false;
    good = count_read(object, "granted", &count) && count_read(object, "key_left", &of_reply.key) &&
           count_read(object, "organization_left", &of_reply.organization);
    json_free(object);
    if (!good)
        return false;
    *granted = count;
    *left = of_reply;
    return true;
}

static bool read_reply(struct key *key, struct bus_message *message)
{
    struct quota_limits left;
    enum outcome outcome;
    uint32_t granted;

    if (!outcome_of(bus_message_header(message, HEADER_OUTCOME), &outcome) ||
        outcome != OUTCOME_OK || !quota_grant_read(bus_message_body(message), &granted, &left))
        return false;
    quota_grant(&key->quota, key->lease_window, granted, left);
    return true;
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
    if (end != CALL_REPLIED || !read_reply(key, message))
        fail(key);
    bus_message_free(message);
    wait_list_resume(&key->short_of);
    key_cache_put(gateway->keys, key);
}

static struct str body_of(const struct quota *quota, uint32_t waiting, struct arena *arena)
{
    struct buf body;

    buf_init(&body, arena, 128);
    buf_char(&body, '{');
    json_add_integer(&body, "window", quota->window);
    json_add_integer(&body, "want", quota_want(quota, waiting));
    json_add_integer(&body, "key_limit", quota->limits.key);
    json_add_integer(&body, "organization_limit", quota->limits.organization);
    buf_char(&body, '}');
    return buf_str(&body);
}

static enum status start(struct gateway *gateway, struct key *key, uint32_t waiting)
{
    struct call_request call = {.subject = SUBJECT_ACCESS_QUOTA, .on_end = on_end, .owner = key};
    struct arena arena;
    enum status st;

    call_headers_add(&call.headers, HEADER_ORGANIZATION, key->record.organization_id);
    call_headers_add(&call.headers, HEADER_API_KEY, key->record.api_key_id);
    arena_init(&arena, BODY_MAX);
    call.body = body_of(&key->quota, waiting, &arena);
    st = gateway_call(gateway, &call);
    arena_release(&arena);
    return st;
}

static void ask(struct gateway *gateway, struct key *key, uint32_t waiting)
{
    metric_add(gateway_metrics.leases, 1);
    if (start(gateway, key, waiting) != ST_OK) {
        fail(key);
        return;
    }
    key->gateway = gateway;
    key->leasing = true;
    key->lease_window = key->quota.window;
    key_cache_hold(key);
}

void quota_lease_ahead(struct gateway *gateway, struct key *key)
{
    if (!key->leasing)
        ask(gateway, key, 0);
}

bool quota_lease_wait(struct gateway *gateway, struct key *key, struct wait_entry *entry)
{
    /* Access has just failed to answer for this key: do not wait for it again. */
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
