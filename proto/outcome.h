/*
 * outcome - how commands end; table in outcome.def.
 *
 * Threads  Any; constant tables.
 */
#ifndef PROTO_OUTCOME_H
#define PROTO_OUTCOME_H

#include <stdbool.h>

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

#endif
