/*
 * key_record - what access answers about an API key.
 *
 * Owns     A record owns its list of addresses.
 * Threads  The loop's.
 */
#ifndef SERVICES_GATEWAY_KEY_RECORD_H
#define SERVICES_GATEWAY_KEY_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/cell.h"
#include "common/base/ip.h"
#include "common/base/must.h"
#include "common/base/status.h"
#include "common/base/str.h"
#include "common/base/uuid.h"

struct quota_limits {
    uint32_t key, organization; /* requests a window: quota.h */
};

#define KEY_ADDRESSES_MAX 10000

struct key_record {
    char organization_id[UUID_TEXT + 1], api_key_id[UUID_TEXT + 1];
    bool may_write;
    bool plan_has_api, require_https, ip_allowlist_enabled;
    int64_t expires_at; /* Unix seconds; INT64_MAX = never */
    struct quota_limits limits;
    char cell[CELL_CAPACITY]; /* the organization's */
    struct address *addresses;
    size_t n_addresses;
};

/* False: not as the contract promises; *out is untouched. */
MUST_CHECK bool key_record_read(struct str json, struct key_record *out);
void key_record_release(struct key_record *record);
bool key_record_lists(const struct key_record *record, const struct address *address);

#endif
