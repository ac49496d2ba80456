/*
 * operation - the operations of the API; table in operation.def.
 *
 * Threads  Any; constant tables.
 */
#ifndef PROTO_OPERATION_H
#define PROTO_OPERATION_H

#include <stdbool.h>

#include "common/base/str.h"

enum operation {
#define OPERATION(symbol, name) symbol,
#include "proto/operation.def"
#undef OPERATION
    OPERATION_COUNT
};

const char *operation_name(enum operation operation);
/* False leaves *out untouched. */
bool operation_of(struct str name, enum operation *out);

#endif
