/*
 * quota - counts what a key may still do in the current window.
 *
 * What     Requests are counted in windows of 10 seconds aligned to the epoch. The access service
 *          grants shares ("leases") of what a window allows (quota_lease.h); they are exact across
 *          all gateways. While access is unreachable, the gateway counts locally against the whole
 *          limit until the window ends. A key has two accounts: one of requests within its limit,
 *          and one of refusals, answers to requests beyond it. Each answer is an entry on disk, so
 *          they are limited, too.
 * Owns     Nothing.
 * Threads  The loop's; no I/O.
 */
#ifndef SERVICES_GATEWAY_QUOTA_H
#define SERVICES_GATEWAY_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/list.h"
#include "services/gateway/key_record.h"

struct key;

#define QUOTA_WINDOW_SECONDS 10

/* How many refusals a window has. A key gets at most twice its limit in answers, so that what it
   can write is bounded; and at least 100, so that someone who tries a small limit sees its refusals.
   The organization's is as many times a key's as its limit is, at least, so that no key uses up the
   refusals of the others; it bounds what many keys can write. */
struct quota_limits quota_refusals(struct quota_limits limits);

struct quota {
    int64_t window; /* Unix seconds / 10 */
    struct quota_limits limits;
    struct quota_limits left; /* not granted to any gateway yet, as of the latest lease */
    uint32_t leased;          /* granted to us and not used yet */
    uint32_t used;            /* taken here in this window */
    uint32_t latest_grant;
    bool over;  /* nothing is left to grant */
    bool alone; /* access was unreachable: counting locally */
};

enum quota_result { QUOTA_TAKEN, QUOTA_OVER, QUOTA_ASK };

/* Takes one request's worth. QUOTA_ASK: nothing taken, a lease is needed first. */
enum quota_result quota_take(struct quota *quota, int64_t now_s, struct quota_limits limits);
/* The next lease should be requested now, before this one is used up. */
bool quota_is_low(const struct quota *quota);
/* How many to request when `waiting` requests need one each. */
uint32_t quota_want(const struct quota *quota, uint32_t waiting);
/* A lease for `window` arrived; ignored if that window is over. */
void quota_grant(struct quota *quota, int64_t window, uint32_t granted, struct quota_limits left);
void quota_unreachable(struct quota *quota);

/* The limit shown to the client: the tighter of the two. */
struct quota_view {
    uint32_t limit, remaining;
    int64_t reset_s; /* Unix seconds at which the window ends */
    bool is_of_key;  /* else the organization's */
};
struct quota_view quota_view(const struct quota *quota);

/* One of a key's two accounts: requests or refusals. */
struct quota_account {
    struct key *key;
    struct quota quota;
    bool leasing; /* a request for a lease is in flight */
    int64_t lease_window;
    struct list short_of; /* API requests that wait for a lease */
    uint32_t n_short_of;
};

void quota_account_init(struct quota_account *account, struct key *key);

#endif
