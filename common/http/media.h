/*
 * media - what a client takes (Accept) and what it sends (Content-Type).
 *
 * Threads  Any; pure.
 */
#ifndef COMMON_HTTP_MEDIA_H
#define COMMON_HTTP_MEDIA_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/str.h"

/* Whether the Accept headers, `n` of them, take application/json: none at all takes everything, and
   of several ranges that fit the most specific decides. */
bool media_accepts_json(const struct str *values, size_t n);

/* Whether a Content-Type is application/json; parameters may follow. STR_NONE is not. */
bool media_is_json(struct str value);

#endif
