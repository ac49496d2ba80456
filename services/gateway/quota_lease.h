/*
 * quota_lease - asks access for leases, and takes from them.
 *
 * What     At most one request for a lease is in flight for an account, however many API requests
 *          wait for it. Without an answer the account counts locally (quota.h).
 * Owns     Nothing; a key is held while its request for a lease is in flight.
 * Threads  The loop's.
 */
#ifndef SERVICES_GATEWAY_QUOTA_LEASE_H
#define SERVICES_GATEWAY_QUOTA_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/base/str.h"
#include "services/gateway/quota.h"

struct gateway;
struct wait_entry;

/* Reads a reply to v1.access.quota. False: not as the contract promises; both are untouched. */
MUST_CHECK bool quota_grant_read(struct str json, uint32_t *granted, struct quota_limits *left);

/* Takes one for an API request, and asks for a lease ahead of time if few are left. QUOTA_ASK: the
   entry waits for a lease; call again when it is resumed. */
MUST_CHECK enum quota_result quota_use(struct gateway *gateway, struct quota_account *account,
                                       struct wait_entry *entry);

#endif
