#include "proto/usage.h"

static const char *const names[USAGE_OUTCOMES] = {
#define USAGE_OUTCOME(symbol, name) [symbol] = (name),
#include "proto/usage.def"
#undef USAGE_OUTCOME
};

static const int64_t bounds[USAGE_BOUNDS] = {
#define USAGE_BOUND(us) us,
#include "proto/usage.def"
#undef USAGE_BOUND
};

const char *usage_outcome_name(enum usage_outcome outcome)
{
    return names[outcome];
}

enum usage_outcome usage_outcome_of(int http_status)
{
    if (http_status < 400)
        return USAGE_ALLOWED;
    if (http_status >= 500)
        return USAGE_ERROR;
    if (http_status == 429)
        return USAGE_LIMITED;
    return http_status == 403 ? USAGE_DENIED : USAGE_REJECTED;
}

int64_t usage_bound(size_t bucket)
{
    return bounds[bucket];
}

size_t usage_bucket(int64_t took_us)
{
    size_t bucket = 0;

    while (bucket < USAGE_BOUNDS && took_us > bounds[bucket])
        bucket++;
    return bucket;
}
