#include "services/access/percentile.h"

int64_t percentile_us(const int64_t counts[USAGE_BUCKETS], int percent)
{
    int64_t n = 0, below = 0, rank, from, to;
    size_t i = 0;

    for (size_t bucket = 0; bucket < USAGE_BUCKETS; bucket++)
        n += counts[bucket];
    if (n == 0)
        return -1;
    rank = (n * percent + 99) / 100; /* the request that is looked for, counted from 1 */
    while (below + counts[i] < rank)
        below += counts[i++];
    if (i == USAGE_BOUNDS)
        return usage_bound(USAGE_BOUNDS - 1);
    from = i > 0 ? usage_bound(i - 1) : 0;
    to = usage_bound(i);
    return from + (to - from) * (rank - below) / counts[i];
}
