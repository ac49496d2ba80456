/*
 * chunked - decodes the chunked transfer coding (RFC 9112, 7.1), strictly.
 *
 * What     Sizes are one to eight hexadecimal digits with nothing around them, and lines end in
 *          CR LF. Extensions of at most 100 bytes per chunk and trailers of header fields are
 *          accepted and ignored.
 * Owns     Nothing. The state is in the struct that libh2o has for its own decoder (framing.h), as in
 *          its binary interface: h2o zeroes it when a body begins, and sets consume_trailer.
 * Threads  Any, one at a time for a decoder.
 * Fails    With a negative result; do not use the decoder again after one but CHUNKED_INCOMPLETE.
 */
#ifndef COMMON_HTTP_CHUNKED_H
#define COMMON_HTTP_CHUNKED_H

#include <stddef.h>
#include <sys/types.h>

/* Between two reads of a body. Only the decoder reads it; the comments describe ours. */
struct phr_chunked_decoder {
    /* In the lower 32 bits; the upper ones have the number of body bytes decoded so far. */
    size_t bytes_left_in_chunk;
    char consume_trailer; /* not 0: the trailer belongs to the body; ours always treats it so */
    char _hex_count;      /* digits of a chunk's size, then bytes of its extensions */
    char _state;          /* what the next byte is part of */
};

#define CHUNKED_MALFORMED  (-1)
#define CHUNKED_INCOMPLETE (-2)
#define CHUNKED_TOO_LARGE  (-3) /* as soon as a chunk's size would make the body too large */

/* Decodes in place; *n, the number of bytes at `p`, becomes the number of decoded bytes. The body may
   have `max` bytes. Returns how many bytes follow it. */
ssize_t chunked_decode(struct phr_chunked_decoder *decoder, char *p, size_t *n, size_t max);

#endif
