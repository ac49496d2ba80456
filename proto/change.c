#include "proto/change.h"

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
