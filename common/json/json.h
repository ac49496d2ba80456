/*
 * json - strict reading of JSON from outside, on jansson.
 *
 * What     json_read() accepts exactly RFC 8259, and refuses what is ambiguous or excessive:
 *          duplicate keys at any level, invalid UTF-8, lone surrogates, numbers that are not finite
 *          doubles, numbers with an exponent over 400 or of more than 800 characters when written
 *          out (they would expand without limit where the text is stored exactly), nesting deeper
 *          than 32, anything after the value, a byte order mark, and other codings than UTF-8, which
 *          the error names. U+0000 inside strings is accepted here, because the
 *          error for it must have the field's path: readers of strings must check (json_text()).
 *          Integers outside int64 are reals in the tree; the stored value comes from the text.
 * Owns     The tree, from malloc; free it with json_free(). Its strings live as long as the tree.
 * Threads  One thread at a time for a tree.
 * Fails    false, with a sentence that gives line and column and quotes nothing of the input.
 *
 * This header and its .c are the only users of jansson.h; others may use the json_t accessors that
 * come with it.
 */
#ifndef COMMON_JSON_JSON_H
#define COMMON_JSON_JSON_H

#include <jansson.h>
#include <stdbool.h>

#include "common/base/buf.h"
#include "common/base/status.h"
#include "common/base/str.h"

#define JSON_DEPTH_MAX  32
#define JSON_NUMBER_MAX 800

/* `error`: 160 bytes, or NULL. */
MUST_CHECK bool json_read(struct str text, json_t **out, char *error);
/* From now on, memory that jansson frees is overwritten first: for processes that read passwords.
   Call before threads start. */
void json_wipe_what_is_freed(void);

void json_free(json_t *value); /* NULL is fine */

/* The bytes of a string value; STR_NONE for any other type. May hold U+0000. */
struct str json_text(const json_t *value);
/* The same for a member of an object; STR_NONE when absent. */
struct str json_member_text(const json_t *object, const char *key);
/* A count: an integer from 0 to 2^31 - 1. False leaves *out untouched. */
MUST_CHECK bool json_member_count(const json_t *object, const char *key, uint32_t *out);

/* Writing: appends into a buf. The text must be valid UTF-8 (ours always is). */
void json_add_string(struct buf *buf, struct str text); /* quoted and escaped; STR_NONE: null */
/* JSON text from PostgreSQL, with the blanks between its tokens removed, as in ours. STR_NONE:
   null. */
void json_add_compact(struct buf *buf, struct str json);
/* `"key":`, with a comma before it unless the last byte is an opening bracket. */
void json_add_key(struct buf *buf, const char *key);
/* Add a member: key and value. */
void json_add_text(struct buf *buf, const char *key, struct str text);
void json_add_integer(struct buf *buf, const char *key, int64_t value);
void json_add_bool(struct buf *buf, const char *key, bool value);

#endif
