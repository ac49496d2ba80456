/*
 * text - the rules for strings that come from outside, and the code points they are made of.
 *
 * What     Input is valid UTF-8 (json_read checks it), unless stated otherwise.
 * Threads  Any; pure functions.
 */
#ifndef COMMON_BASE_TEXT_H
#define COMMON_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/arena.h"
#include "common/base/str.h"

/* -- texts ------------------------------------------------------------------------------------- */

size_t text_length(struct str s);        /* Unicode code points */
bool text_has_nul(struct str s);         /* U+0000 */
bool text_has_outer_space(struct str s); /* first or last has the property White_Space */
struct str text_trim(struct str s);      /* without White_Space at both ends */
/* Lower case by simple Unicode case mapping; used for email addresses. */
struct str text_lower(struct arena *arena, struct str s);
bool text_is_utf8(struct str s); /* RFC 3629: no surrogates, no overlong forms */

/* Decodes a value of a query string or a form, percent-encoded and with `+` for a space, into
   `bytes`. False: a percent sign without two digits, more than `max` bytes, or no valid text
   (not UTF-8, or with U+0000). */
bool text_decode_form(struct str raw, char *bytes, size_t max, struct str *out);

/* -- code points ------------------------------------------------------------------------------- */

/* By RFC 3629: no surrogates, no overlong forms, up to U+10FFFF. */

#define UTF8_MAX 4 /* bytes of a code point */

/* The number of bytes of the code point at the front of `s`; 0 if `s` is empty or malformed there,
   which leaves *code untouched. */
size_t utf8_decode(struct str s, uint32_t *code);
/* Writes a valid code point and returns the number of bytes. */
size_t utf8_encode(uint32_t code, char out[UTF8_MAX]);

#endif
