#include "proto/operation.h"

static const struct str names[OPERATION_COUNT] = {
#define OPERATION(symbol, name) [symbol] = {name, sizeof(name) - 1},
#include "proto/operation.def"
#undef OPERATION
};

const char *operation_name(enum operation operation)
{
    return names[operation].p;
}

bool operation_of(struct str name, enum operation *out)
{
    for (int i = OP_NONE + 1; i < OPERATION_COUNT; i++) {
        if (str_equal(names[i], name)) {
            *out = (enum operation)i;
            return true;
        }
    }
    return false;
}
