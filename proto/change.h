/*
 * change - what operators change; table in change.def.
 *
 * Threads  Any; constant tables.
 */
#ifndef PROTO_CHANGE_H
#define PROTO_CHANGE_H

enum change {
#define CHANGE(symbol, name, asked, told) symbol,
#include "proto/change.def"
#undef CHANGE
    CHANGE_COUNT
};

const char *change_name(enum change change);
/* Names with a space between them. */
const char *change_asked(enum change change);
const char *change_told(enum change change);

#endif
