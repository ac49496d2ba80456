/*
 * ascii - classes of characters and hexadecimal digits.
 *
 * What     Only ASCII characters belong to a class, whatever the locale; bytes from 0x80 on belong
 *          to none.
 * Threads  Any; pure functions.
 */
#ifndef COMMON_BASE_ASCII_H
#define COMMON_BASE_ASCII_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/str.h"

bool ascii_is_digit(char c);
bool ascii_is_letter(char c);
bool ascii_is_lower(char c); /* a letter in lower case */
bool ascii_is_alphanumeric(char c);
bool ascii_is_token(char c); /* of a method or a header's name in HTTP (RFC 9110, 5.6.2) */
/* Converts a letter; returns everything else unchanged. */
char ascii_lower(char c);
char ascii_upper(char c);
bool str_equal_nocase(struct str a, struct str b); /* letters are equal in either case */

/* The value of a hexadecimal digit, of either case; -1 for any other character. */
int hex_value(char c);
/* The digit, in lower case, of a value from 0 to 15. */
char hex_digit(unsigned value);
/* Writes 2n digits in lower case, and a NUL. */
void hex_write(const void *bytes, size_t n, char *text);
/* Reads exactly 2n digits in lower case. False leaves *bytes untouched. */
bool hex_read(struct str text, void *bytes, size_t n);

#endif
