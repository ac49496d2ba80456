/*
 * base64url - bytes as text that is safe in URLs and cookies (RFC 4648, section 5), unpadded.
 *
 * Threads  Any; pure.
 */
#ifndef COMMON_BASE_BASE64URL_H
#define COMMON_BASE_BASE64URL_H

#include <stdbool.h>

#include "common/base/str.h"

/* How many characters n bytes take. */
#define BASE64URL_TEXT(n) (((n)*8 + 5) / 6)

/* Writes the text and a NUL; returns its length. */
size_t base64url_write(const uint8_t *bytes, size_t n, char *text);
/* Accepts one spelling for each value: no padding, and unused bits are zero. `bytes` must have room
   for 3/4 of the text. */
bool base64url_read(struct str text, uint8_t *bytes, size_t *n);

#endif
