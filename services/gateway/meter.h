/*
 * meter - the gateway's metrics.
 *
 * Owns     The one set of them; registered by meter_open().
 * Threads  meter_open() once, before threads start; updating from any.
 */
#ifndef GATEWAY_METER_H
#define GATEWAY_METER_H

#include "common/base/metrics.h"
#include "proto/operation.h"

struct meter {
    struct metric *key_hits, *key_misses, *lookups, *lookups_failed, *lookups_withheld;
    struct metric *leases, *leases_failed;
    struct metric *auth_failures, *auth_throttled;
    struct metric *held, *unrecorded;
    struct metric *usage_kept, *usage_uncertain;
};

extern struct meter meter;

void meter_open(void);
/* An answer has been given. */
void meter_answer(enum operation operation, int status, int64_t took_us);

#endif
