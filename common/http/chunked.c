#include "common/http/chunked.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/base/ascii.h"

#define SIZE_DIGITS_MAX 8
#define EXTENSION_MAX   100

enum state {
    IN_SIZE,
    IN_EXTENSION,
    AFTER_SIZE, /* the LF at the end of the size line */
    IN_DATA,
    AFTER_DATA, /* the CR after a chunk */
    AFTER_DATA_CR,
    AT_TRAILER, /* at the start of a line */
    IN_TRAILER_NAME,
    IN_TRAILER,
    AFTER_TRAILER, /* the LF at the end of a trailer line */
    AT_END         /* the LF of the empty line */
};

/* The library's counter has 64 bits and a chunk's size 32: the upper half has the size decoded so
   far. */
static uint32_t left(const struct phr_chunked_decoder *decoder)
{
    return (uint32_t)decoder->bytes_left_in_chunk;
}

static uint32_t total(const struct phr_chunked_decoder *decoder)
{
    return (uint32_t)(decoder->bytes_left_in_chunk >> 32);
}

static void set(struct phr_chunked_decoder *decoder, uint32_t decoded, uint32_t remaining)
{
    decoder->bytes_left_in_chunk = (size_t)decoded << 32 | remaining;
}

static int step_size(struct phr_chunked_decoder *decoder, char c)
{
    int digit = hex_value(c);

    if (digit >= 0 && decoder->_hex_count < SIZE_DIGITS_MAX) {
        decoder->_hex_count++;
        set(decoder, total(decoder), left(decoder) << 4 | (uint32_t)digit);
        return IN_SIZE;
    }
    if (digit >= 0 || decoder->_hex_count == 0)
        return CHUNKED_MALFORMED;
    decoder->_hex_count = 0;
    if (c == ';')
        return IN_EXTENSION;
    return c == '\r' ? AFTER_SIZE : CHUNKED_MALFORMED;
}

static bool is_text(char c)
{
    return ((unsigned char)c >= ' ' && c != 0x7f) || c == '\t';
}

static int step_extension(struct phr_chunked_decoder *decoder, char c)
{
    if (c == '\r') {
        decoder->_hex_count = 0;
        return AFTER_SIZE;
    }
    if (!is_text(c) || decoder->_hex_count == EXTENSION_MAX)
        return CHUNKED_MALFORMED;
    decoder->_hex_count++;
    return IN_EXTENSION;
}

static int step_after_size(struct phr_chunked_decoder *decoder, char c, size_t max)
{
    if (c != '\n')
        return CHUNKED_MALFORMED;
    if (left(decoder) == 0)
        return AT_TRAILER;
    return (uint64_t)total(decoder) + left(decoder) > max ? CHUNKED_TOO_LARGE : IN_DATA;
}

/* Handles one byte outside a chunk's data. Returns the next state, or an error. */
static int step(struct phr_chunked_decoder *decoder, char c, size_t max)
{
    switch ((enum state)decoder->_state) {
    case IN_SIZE:
        return step_size(decoder, c);
    case IN_EXTENSION:
        return step_extension(decoder, c);
    case AFTER_SIZE:
        return step_after_size(decoder, c, max);
    case AFTER_DATA:
        return c == '\r' ? AFTER_DATA_CR : CHUNKED_MALFORMED;
    case AFTER_DATA_CR:
        return c == '\n' ? IN_SIZE : CHUNKED_MALFORMED;
    case AT_TRAILER:
        if (c == '\r')
            return AT_END;
        return ascii_is_token(c) ? IN_TRAILER_NAME : CHUNKED_MALFORMED;
    case IN_TRAILER_NAME:
        if (c == ':')
            return IN_TRAILER;
        return ascii_is_token(c) ? IN_TRAILER_NAME : CHUNKED_MALFORMED;
    case IN_TRAILER:
        if (c == '\r')
            return AFTER_TRAILER;
        return is_text(c) ? IN_TRAILER : CHUNKED_MALFORMED;
    case AFTER_TRAILER:
        return c == '\n' ? AT_TRAILER : CHUNKED_MALFORMED;
    case IN_DATA:
    case AT_END:
        break;
    }
    return CHUNKED_MALFORMED;
}

ssize_t chunked_decode(struct phr_chunked_decoder *decoder, char *p, size_t *n, size_t max)
{
    size_t from = 0, to = 0;

    while (from < *n) {
        if (decoder->_state == IN_DATA) {
            size_t take = *n - from < left(decoder) ? *n - from : left(decoder);

            memmove(p + to, p + from, take);
            from += take;
            to += take;
            set(decoder, total(decoder) + (uint32_t)take, left(decoder) - (uint32_t)take);
            if (left(decoder) == 0)
                decoder->_state = AFTER_DATA;
            continue;
        }
        if (decoder->_state == AT_END) {
            if (p[from++] != '\n')
                return CHUNKED_MALFORMED;
            memmove(p + to, p + from, *n - from);
            ssize_t rest = (ssize_t)(*n - from);
            *n = to;
            return rest;
        }
        int next = step(decoder, p[from++], max);
        if (next < 0)
            return next;
        decoder->_state = (char)next;
    }
    *n = to;
    return CHUNKED_INCOMPLETE;
}
