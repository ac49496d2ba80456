/*
 * json - strict reading of JSON from outside, on jansson.
 *
 * What     json_read() accepts exactly RFC 8259 and nothing doubtful: duplicate keys at any level,
 *          invalid UTF-8, lone surrogates, numbers that are no finite double, numbers with an
 *          exponent over 400 or of more than 800 characters written out (they would expand without
 *          bound where the text is stored exactly), nesting deeper than 32, anything behind the
 *          value: all refused. U+0000 inside strings is let through here, because the contract
 *          answers it with the field's path: readers of strings must look (json_text()).
 *          Integers outside int64 are reals in the tree; the stored value comes from the text.
 * Owns     The tree, from malloc; free with json_free(). Strings inside it live as long.
 * Threads  One thread at a time for a tree.
 * Fails    false, with a sentence that names line and column and quotes nothing of the input.
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
/* From here on what jansson frees is overwritten first: for processes that read passwords. Before
   threads start. */
void json_wipe_what_is_freed(void);

void json_free(json_t *value); /* NULL is fine */

/* The bytes of a string value; STR_NONE for any other type. May hold U+0000. */
struct str json_text(const json_t *value);
/* The same for a member of an object; STR_NONE when absent. */
struct str json_member_text(const json_t *object, const char *key);

/* Writing: appends into a buf. The text must be valid UTF-8 (ours always is). */
void json_add_string(struct buf *buf, struct str text); /* quoted and escaped; STR_NONE: null */
/* JSON that PostgreSQL has written, without the blanks between its tokens: spaced as ours is. STR_NONE: null. */
void json_add_compact(struct buf *buf, struct str json);
/* `"key":`, with a comma before it unless the last byte is an opening bracket. */
void json_add_key(struct buf *buf, const char *key);
/* A member: the key and its value. */
void json_add_text(struct buf *buf, const char *key, struct str text);
void json_add_integer(struct buf *buf, const char *key, int64_t value);
void json_add_bool(struct buf *buf, const char *key, bool value);

#endif
