/*
 * attributes - the rules of custom attributes (contract 2.3).
 *
 * What     Checks what a caller sends. What is stored is made by PostgreSQL from the caller's own
 *          bytes, so that numbers keep every digit.
 * Threads  Any; pure.
 */
#ifndef SERVICES_CONVERSATION_ATTRIBUTES_H
#define SERVICES_CONVERSATION_ATTRIBUTES_H

#include "common/wire/fields.h"

#define ATTRIBUTES_MAX 20 /* stored on one conversation */

struct attributes {
    bool given;
    size_t n_values; /* members that are not null */
};

/* A field_read_fn; the slot is a struct attributes. */
void attributes_read(json_t *value, const char *path, void *slot, struct errors *errors);

/* What a caller is told whose change would make them too many. */
#define ATTRIBUTES_TOO_MANY "custom_attributes must not have more than 20 keys"

#endif
