/*
 * attribute_key - which custom attributes a conversation may have (docs/api.md, "Custom attributes").
 *
 * What     A key begins with a letter and consists of letters, digits, '_', '-' and '.', 64 at
 *          most; the prefix service_, in whatever case, is reserved. What may be written may be
 *          searched: both sides ask here.
 * Threads  Any; pure.
 */
#ifndef COMMON_MODEL_ATTRIBUTE_KEY_H
#define COMMON_MODEL_ATTRIBUTE_KEY_H

#include "common/base/str.h"

#define ATTRIBUTE_KEY_MAX  64
#define ATTRIBUTE_TEXT_MAX 500 /* code points of a value that is a string */

/* What is wrong with a key, in words that follow its name; NULL = nothing. */
const char *attribute_key_error(struct str key);

#endif
