/*
 * quota - a key's share of the current window's limit.
 *
 * What     Requests are counted in windows of 10 seconds aligned to the epoch. The access service
 *          grants shares ("leases") of what a window allows; they are exact across all gateways.
 *          While access is unreachable, the gateway counts locally against the whole limit until
 *          the window ends. At most one request for a lease is in flight for a key, however many
 *          API requests wait for it.
 * Owns     Nothing; a key is held while its request for a lease is in flight.
 * Threads  The loop's.
 */
#ifndef SERVICES_GATEWAY_QUOTA_H
#define SERVICES_GATEWAY_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/base/str.h"

struct gateway;
struct key;
struct wait_entry;

/* -- counting: no I/O ------------------------------------------------------------------------ */

#define QUOTA_WINDOW_SECONDS 10

struct quota_limits {
    uint32_t key, organization; /* requests a window */
};

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

/* -- leases: asked of access ----------------------------------------------------------------- */

/* Reads a reply to v1.access.quota. False: not as the contract promises; both are untouched. */
MUST_CHECK bool quota_grant_read(struct str json, uint32_t *granted, struct quota_limits *left);

void quota_lease_ahead(struct gateway *gateway, struct key *key);
/* False: access cannot be asked now; the quota has switched to local counting. */
MUST_CHECK bool quota_lease_wait(struct gateway *gateway, struct key *key,
                                 struct wait_entry *entry);

#endif
