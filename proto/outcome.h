/*
 * outcome - how commands end, and the names under which requests and changes are recorded. The tables
 *           are outcome.def, operation.def, change.def and usage.def.
 *
 * Threads  Any; constant tables.
 */
#ifndef PROTO_OUTCOME_H
#define PROTO_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/str.h"

enum outcome {
#define OUTCOME(symbol, name, status, code, audited, seen_by) symbol,
#include "proto/outcome.def"
#undef OUTCOME
    OUTCOME_COUNT
};

const char *outcome_name(enum outcome outcome);
int outcome_http_status(enum outcome outcome);
const char *outcome_code(enum outcome outcome); /* NULL for success */
bool outcome_is_audited(enum outcome outcome);
bool outcome_of(struct str name, enum outcome *out); /* false leaves *out untouched */

/* -- operations of the API --------------------------------------------------------------------- */

enum operation {
#define OPERATION(symbol, name) symbol,
#include "proto/operation.def"
#undef OPERATION
    OPERATION_COUNT
};

const char *operation_name(enum operation operation);
/* False leaves *out untouched. */
bool operation_of(struct str name, enum operation *out);

/* -- what operators change --------------------------------------------------------------------- */

enum change {
#define CHANGE(symbol, name, asked, told) symbol,
#include "proto/change.def"
#undef CHANGE
    CHANGE_COUNT
};

const char *change_name(enum change change);
/* Names separated by spaces. */
const char *change_asked(enum change change);
const char *change_told(enum change change);

/* -- outcomes and times of requests as they are counted ---------------------------------------- */

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
/* The upper bound of a bucket, in microseconds; the last bucket has none. */
int64_t usage_bound(size_t bucket);
size_t usage_bucket(int64_t took_us);

#endif
