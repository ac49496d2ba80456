/*
 * count - a count in a reply of access: a whole number from 0 to 2^31 - 1.
 *
 * Threads  Any; pure.
 */
#ifndef GATEWAY_COUNT_H
#define GATEWAY_COUNT_H

#include <stdint.h>

#include "common/wire/json.h"

/* A member of an object; false leaves *out untouched. */
bool count_read(const json_t *object, const char *name, uint32_t *out);

#endif
