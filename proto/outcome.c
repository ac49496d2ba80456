#include "proto/outcome.h"

struct outcome_row {
    struct str name;
    int http_status;
    const char *code;
    bool audited;
};

static const struct outcome_row outcomes[OUTCOME_COUNT] = {
#define OUTCOME(symbol, name, status, code, audited, seen_by)                                      \
    [symbol] = {{name, sizeof(name) - 1}, status, code, audited},
#include "proto/outcome.def"
#undef OUTCOME
};

const char *outcome_name(enum outcome outcome)
{
    return outcomes[outcome].name.p;
}

int outcome_http_status(enum outcome outcome)
{
    return outcomes[outcome].http_status;
}

const char *outcome_code(enum outcome outcome)
{
    return outcomes[outcome].code;
}

bool outcome_is_audited(enum outcome outcome)
{
    return outcomes[outcome].audited;
}

bool outcome_of(struct str name, enum outcome *out)
{
    for (int i = 0; i < OUTCOME_COUNT; i++) {
        if (str_equal(outcomes[i].name, name)) {
            *out = (enum outcome)i;
            return true;
        }
    }
    return false;
}

/* -- operations of the API --------------------------------------------------------------------- */

static const struct str operations[OPERATION_COUNT] = {
#define OPERATION(symbol, name) [symbol] = {name, sizeof(name) - 1},
#include "proto/operation.def"
#undef OPERATION
};

const char *operation_name(enum operation operation)
{
    return operations[operation].p;
}

bool operation_of(struct str name, enum operation *out)
{
    for (int i = OP_NONE + 1; i < OPERATION_COUNT; i++) {
        if (str_equal(operations[i], name)) {
            *out = (enum operation)i;
            return true;
        }
    }
    return false;
}

/* -- what operators change --------------------------------------------------------------------- */

static const struct {
    const char *name, *asked, *told;
} changes[CHANGE_COUNT] = {
#define CHANGE(symbol, name, asked, told) [symbol] = {name, asked, told},
#include "proto/change.def"
#undef CHANGE
};

const char *change_name(enum change change)
{
    return changes[change].name;
}

const char *change_asked(enum change change)
{
    return changes[change].asked;
}

const char *change_told(enum change change)
{
    return changes[change].told;
}

/* -- outcomes and times of requests as they are counted ---------------------------------------- */

static const char *const usage_outcomes[USAGE_OUTCOMES] = {
#define USAGE_OUTCOME(symbol, name) [symbol] = (name),
#include "proto/usage.def"
#undef USAGE_OUTCOME
};

static const int64_t usage_bounds[USAGE_BOUNDS] = {
#define USAGE_BOUND(us) us,
#include "proto/usage.def"
#undef USAGE_BOUND
};

const char *usage_outcome_name(enum usage_outcome outcome)
{
    return usage_outcomes[outcome];
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
    return usage_bounds[bucket];
}

size_t usage_bucket(int64_t took_us)
{
    size_t bucket = 0;

    while (bucket < USAGE_BOUNDS && took_us > usage_bounds[bucket])
        bucket++;
    return bucket;
}
