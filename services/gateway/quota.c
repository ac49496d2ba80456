#include "services/gateway/quota.h"

/* A lease asks for a sixteenth of what is left: few requests to access while plenty is left, exact
   counting at the end. */
#define SHARE 16
/* A lease smaller than this is not renewed ahead of time: an unused share is lost to other
   gateways. */
#define AHEAD_MIN 8

static uint32_t tighter(struct quota_limits limits)
{
    return limits.key < limits.organization ? limits.key : limits.organization;
}

/* At least. */
#define ANSWERS_OF_KEY          100
#define ANSWERS_OF_ORGANIZATION (ANSWERS_OF_KEY * 5 / 2)

static uint32_t refusals(uint32_t limit, uint32_t answers_min)
{
    return limit >= answers_min / 2 ? limit : answers_min - limit;
}

struct quota_limits quota_refusals(struct quota_limits limits)
{
    return (struct quota_limits){refusals(limits.key, ANSWERS_OF_KEY),
                                 refusals(limits.organization, ANSWERS_OF_ORGANIZATION)};
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

void quota_account_init(struct quota_account *account, struct key *key)
{
    *account = (struct quota_account){.key = key};
    list_init(&account->short_of);
}
