/*
 * utf8 - one code point at a time, by RFC 3629: no surrogates, no overlong forms, up to U+10FFFF.
 *
 * Threads  Any; pure functions.
 */
#ifndef COMMON_BASE_UTF8_H
#define COMMON_BASE_UTF8_H

#include "common/base/str.h"

#define UTF8_MAX 4 /* bytes of a code point */

/* Bytes of the code point at the front of `s`; 0 when there is none or it is malformed, which
   leaves *code untouched. */
size_t utf8_decode(struct str s, uint32_t *code);
/* Writes a valid code point and returns its bytes. */
size_t utf8_encode(uint32_t code, char out[UTF8_MAX]);

#endif
