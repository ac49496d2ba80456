/*
 * usage - outcomes and times of requests as they are counted; table in usage.def.
 *
 * Threads  Any; pure.
 */
#ifndef PROTO_USAGE_H
#define PROTO_USAGE_H

#include <stddef.h>
#include <stdint.h>

enum usage_outcome {
#define USAGE_OUTCOME(symbol, name) symbol,
#include "proto/usage.def"
#undef USAGE_OUTCOME
    USAGE_OUTCOMES
};

enum {
#define USAGE_BOUND(us) +1
    USAGE_BOUNDS = 0
#include "proto/usage.def"
#undef USAGE_BOUND
    ,
    USAGE_BUCKETS = USAGE_BOUNDS + 1
};

const char *usage_outcome_name(enum usage_outcome outcome);
enum usage_outcome usage_outcome_of(int http_status);
/* The upper end of a bucket but the last, in microseconds. */
int64_t usage_bound(size_t bucket);
size_t usage_bucket(int64_t took_us);

#endif
