/*
 * percentile - how long the slowest of a share of requests took, as far as buckets tell.
 *
 * Threads  Any; pure.
 */
#ifndef SERVICES_ACCESS_USAGE_H
#define SERVICES_ACCESS_USAGE_H

#include <stdint.h>

#include "proto/outcome.h"

/* Microseconds, between the ends of the bucket that it falls into in proportion; in the last
   bucket, which has no end, where that begins. `percent` of 1 to 100; -1 when nothing was counted.
 */
int64_t percentile_us(const int64_t counts[USAGE_BUCKETS], int percent);

#endif
