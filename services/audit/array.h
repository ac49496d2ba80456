/*
 * array - the text of an SQL array, element by element: a column of many rows as one parameter.
 *
 * What     Elements are ids, numbers, hex digits and the like, which need no escaping.
 * Owns     Its text lives in the arena.
 * Threads  One thread at a time.
 */
#ifndef SERVICES_AUDIT_ARRAY_H
#define SERVICES_AUDIT_ARRAY_H

#include "common/base/buf.h"
#include "common/base/uuid.h"

struct array {
    struct buf text;
};

void array_init(struct array *array, struct arena *arena, size_t room);
void array_add(struct array *array, struct str element);
void array_add_quoted(struct array *array, struct str element);
void array_add_number(struct array *array, uint64_t number);
void array_add_id(struct array *array, const struct uuid *id);
void array_add_hex(struct array *array, const void *data, size_t n);
/* The whole; nothing can be added behind it. */
struct str array_str(struct array *array);

#endif
