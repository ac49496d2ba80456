#include "common/json/json.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/ascii.h"
#include "common/base/log.h"

enum { EXPONENT_MAX = 400 };

/* Whether it continues a code point. */
static bool is_tail(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

/* Writes the error, with the position of byte `at` in the text; returns false. Line and column
   count from 1; a column is a code point. */
static bool explain(struct str text, size_t at, const char *reason, char *error)
{
    size_t line = 1, column = 1;

    if (error == NULL)
        return false;
    for (size_t i = 0; i < at && i < text.n; i++) {
        if (text.p[i] == '\n') {
            line++;
            column = 1;
        } else if (!is_tail(text.p[i])) {
            column++;
        }
    }
    snprintf(error, 160, "invalid JSON at line %zu, column %zu: %s", line, column, reason);
    return false;
}

static const char not_utf8[] = "the text is UTF-16 or UTF-32, but must be UTF-8";

/* Why the text cannot be JSON in UTF-8, by its first bytes, which an editor does not show; NULL: it may
   be. */
static const char *coding_error(struct str text)
{
    static const struct {
        struct str begin;
        const char *error;
    } others[] = {
        {{"\xef\xbb\xbf", 3}, "the text begins with a byte order mark; leave it out"},
        {{"\xfe\xff", 2}, not_utf8},
        {{"\xff\xfe", 2}, not_utf8},
        {{"\x1f\x8b", 2}, "the text is compressed with gzip; send it as it is"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        if (str_starts(text, others[i].begin))
            return others[i].error;
    /* There the first character, which is ASCII in JSON, has zero bytes before or after it. */
    return text.n > 0 && text.n % 2 == 0 && (text.p[0] == '\0' || text.p[1] == '\0') ? not_utf8
                                                                                     : NULL;
}

/* The end of the string that opens at `at`: after its closing quote, or the end of the text. */
static size_t skip_string(struct str text, size_t at)
{
    for (at++; at < text.n && text.p[at] != '"'; at++)
        at += text.p[at] == '\\';
    return at < text.n ? at + 1 : text.n;
}

static bool is_number_part(char c)
{
    return ascii_is_digit(c) || c == '+' || c == '-' || c == '.' || c == 'e' || c == 'E';
}

/* The end of the number that starts at `at`. *fits: it is within limits even when written out, as
   PostgreSQL may return it. */
static size_t skip_number(struct str text, size_t at, bool *fits)
{
    size_t start = at;
    unsigned exponent = 0;
    bool in_exponent = false;

    for (; at < text.n && is_number_part(text.p[at]); at++) {
        if (text.p[at] == 'e' || text.p[at] == 'E')
            in_exponent = true;
        else if (in_exponent && ascii_is_digit(text.p[at]) && exponent <= EXPONENT_MAX)
            exponent = exponent * 10 + (unsigned)(text.p[at] - '0');
    }
    *fits = exponent <= EXPONENT_MAX && at - start + exponent <= JSON_NUMBER_MAX;
    return at;
}

/* A NUL is not valid in JSON, but jansson ignores one after a number or a word. */
static bool is_free_of_nul(struct str text, char *error)
{
    const char *nul = text.n > 0 ? memchr(text.p, '\0', text.n) : NULL;

    return nul == NULL || explain(text, (size_t)(nul - text.p), "syntax error", error);
}

/* Checks the limits that jansson does not have. Runs before it, on arbitrary bytes: as far as they
   are valid JSON the scan follows it, and after that jansson refuses them anyway. */
static bool within_bounds(struct str text, char *error)
{
    size_t depth = 0, at = 0;

    while (at < text.n) {
        char c = text.p[at];
        bool fits = true;
        size_t next = at + 1;

        if (c == '"') {
            next = skip_string(text, at);
        } else if (c == '{' || c == '[') {
            if (++depth > JSON_DEPTH_MAX)
                return explain(text, at, "nested too deeply", error);
        } else if (c == '}' || c == ']') {
            depth -= depth > 0;
        } else if (ascii_is_digit(c) || c == '-') {
            next = skip_number(text, at, &fits);
            if (!fits)
                return explain(text, at, "the number is too long", error);
        }
        at = next;
    }
    return true;
}

static const char *reason_of(const json_error_t *error)
{
    switch (json_error_code(error)) {
    case json_error_duplicate_key:
        return "duplicate key";
    case json_error_invalid_utf8:
        return "not UTF-8";
    case json_error_null_byte_in_key:
        return "U+0000 in a key";
    case json_error_numeric_overflow:
        return "the number is out of range";
    case json_error_premature_end_of_input:
        return "unexpected end of text";
    case json_error_end_of_input_expected:
        return "unexpected text after the value";
    default:
        return "syntax error";
    }
}

/* jansson has read the character at fault, except in these cases. */
static size_t place_of(struct str text, const json_error_t *error)
{
    const enum json_error_code code = json_error_code(error);
    const struct str what = str_of(error->text);
    size_t at = (size_t)error->position;

    if (code == json_error_premature_end_of_input || code == json_error_invalid_utf8 ||
        str_starts(what, STR("control character")) || str_starts(what, STR("unexpected newline")))
        return at;
    do
        at -= at > 0;
    while (at > 0 && is_tail(text.p[at]));
    return at;
}

static json_t *parse(struct str text, json_error_t *error)
{
    return json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY,
                      error);
}

static bool is_large_integer(struct str number)
{
    bool negative = number.p[0] == '-';
    struct str digits = str_skip(number, negative);
    uint64_t value;

    for (size_t i = 0; i < digits.n; i++)
        if (!ascii_is_digit(digits.p[i]))
            return false;
    return digits.n > 2 && !str_to_u64(digits, (uint64_t)INT64_MAX + negative, &value);
}

/* jansson refuses integers outside int64. A double cannot hold their last two digits anyway:
   replaced by an exponent, they make a real of the same length, so that positions in error messages
   stay right. */
static json_t *parse_large_integers(struct str text, json_error_t *error)
{
    char *copy = malloc(text.n + 1);
    json_t *value;
    size_t next;
    bool fits;

    must(copy != NULL);
    memcpy(copy, text.p, text.n);
    for (size_t at = 0; at < text.n; at = next) {
        next = at + 1;
        if (copy[at] == '"') {
            next = skip_string(text, at);
        } else if (ascii_is_digit(copy[at]) || copy[at] == '-') {
            next = skip_number(text, at, &fits);
            if (is_large_integer((struct str){text.p + at, next - at})) {
                copy[next - 2] = 'e';
                copy[next - 1] = '2';
            }
        }
    }
    value = parse((struct str){copy, text.n}, error);
    free(copy);
    return value;
}

bool json_read(struct str text, json_t **out, char *error)
{
    json_error_t parse_error;
    json_t *value;

    if (text.p == NULL)
        text = STR("");
    if (coding_error(text) != NULL)
        return explain(text, 0, coding_error(text), error);
    if (!is_free_of_nul(text, error) || !within_bounds(text, error))
        return false;
    value = parse(text, &parse_error);
    if (value == NULL && json_error_code(&parse_error) == json_error_numeric_overflow)
        value = parse_large_integers(text, &parse_error);
    if (value == NULL) {
        must(json_error_code(&parse_error) != json_error_out_of_memory);
        return explain(text, place_of(text, &parse_error), reason_of(&parse_error), error);
    }
    *out = value;
    return true;
}

static void wipe_and_free(void *p)
{
    if (p != NULL)
        explicit_bzero(p, malloc_usable_size(p));
    free(p);
}

void json_wipe_what_is_freed(void)
{
    json_set_alloc_funcs(malloc, wipe_and_free);
}

void json_free(json_t *value)
{
    json_decref(value);
}

struct str json_text(const json_t *value)
{
    return json_is_string(value) ? (struct str){json_string_value(value), json_string_length(value)}
                                 : STR_NONE;
}

struct str json_member_text(const json_t *object, const char *key)
{
    return json_text(json_object_get(object, key));
}

bool json_member_count(const json_t *object, const char *key, uint32_t *out)
{
    const json_t *value = json_object_get(object, key);

    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        json_integer_value(value) > INT32_MAX)
        return false;
    *out = (uint32_t)json_integer_value(value);
    return true;
}

/* Nonzero for a byte that must be escaped: the letter of its short form, or `u`. */
static const char escape_of[256] = {
    [0x00] = 'u', [0x01] = 'u', [0x02] = 'u', [0x03] = 'u',  [0x04] = 'u', [0x05] = 'u',
    [0x06] = 'u', [0x07] = 'u', [0x08] = 'b', [0x09] = 't',  [0x0A] = 'n', [0x0B] = 'u',
    [0x0C] = 'f', [0x0D] = 'r', [0x0E] = 'u', [0x0F] = 'u',  [0x10] = 'u', [0x11] = 'u',
    [0x12] = 'u', [0x13] = 'u', [0x14] = 'u', [0x15] = 'u',  [0x16] = 'u', [0x17] = 'u',
    [0x18] = 'u', [0x19] = 'u', [0x1A] = 'u', [0x1B] = 'u',  [0x1C] = 'u', [0x1D] = 'u',
    [0x1E] = 'u', [0x1F] = 'u', ['"'] = '"',  ['\\'] = '\\',
};

static void add_escape(struct buf *buf, unsigned char byte)
{
    char out[6] = {'\\', escape_of[byte], '0', '0', hex_digit(byte >> 4), hex_digit(byte & 0xF)};

    buf_add(buf, (struct str){out, escape_of[byte] == 'u' ? sizeof(out) : 2});
}

void json_add_string(struct buf *buf, struct str text)
{
    size_t start = 0; /* of the current run of bytes that need no escape */

    if (text.p == NULL) {
        buf_add(buf, STR("null"));
        return;
    }
    buf_char(buf, '"');
    for (size_t i = 0; i < text.n; i++) {
        if (!escape_of[(unsigned char)text.p[i]])
            continue;
        buf_add(buf, (struct str){text.p + start, i - start});
        add_escape(buf, (unsigned char)text.p[i]);
        start = i + 1;
    }
    buf_add(buf, (struct str){text.p + start, text.n - start});
    buf_char(buf, '"');
}

void json_add_compact(struct buf *buf, struct str json)
{
    size_t start = 0; /* of the current run of bytes that are kept */
    bool is_in_string = false;

    if (json.p == NULL)
        json = STR("null");
    for (size_t i = 0; i < json.n; i++) {
        if (json.p[i] == '"') {
            is_in_string = !is_in_string;
        } else if (is_in_string) {
            i += json.p[i] == '\\'; /* an escaped character does not end the string */
        } else if (json.p[i] == ' ') {
            buf_add(buf, (struct str){json.p + start, i - start});
            start = i + 1;
        }
    }
    buf_add(buf, (struct str){json.p + start, json.n - start});
}

void json_add_key(struct buf *buf, const char *key)
{
    bool first = buf->n == 0 || buf->p[buf->n - 1] == '{' || buf->p[buf->n - 1] == '[';

    if (!first)
        buf_char(buf, ',');
    json_add_string(buf, str_of(key));
    buf_char(buf, ':');
}

void json_add_text(struct buf *buf, const char *key, struct str text)
{
    json_add_key(buf, key);
    json_add_string(buf, text);
}

void json_add_integer(struct buf *buf, const char *key, int64_t value)
{
    json_add_key(buf, key);
    buf_int(buf, value);
}

void json_add_bool(struct buf *buf, const char *key, bool value)
{
    json_add_key(buf, key);
    buf_add(buf, value ? STR("true") : STR("false"));
}
