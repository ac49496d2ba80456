/*
 * uuid - 16 bytes, written in lower case with hyphens. Ours are version 7 (RFC 9562): the first
 * 48 bits are Unix milliseconds, so newer ids sort later and indexes stay dense.
 *
 * Threads  Any. uuid_v7() is monotonic within a thread: ids made in one millisecond ascend.
 */
#ifndef COMMON_BASE_UUID_H
#define COMMON_BASE_UUID_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/str.h"

#define UUID_TEXT 36

struct uuid {
    uint8_t b[16];
};

struct uuid uuid_v7(int64_t now_us);
int64_t uuid_v7_ms(const struct uuid *id); /* its Unix milliseconds */
void uuid_format(const struct uuid *id, char text[UUID_TEXT + 1]);
/* Accepts only the canonical lower-case form; anything else is false and leaves *out untouched. */
bool uuid_parse(struct str text, struct uuid *out);
bool uuid_equal(const struct uuid *a, const struct uuid *b);
bool uuid_is_nil(const struct uuid *id);

#endif
