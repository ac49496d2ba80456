/*
 * chunked - a strict decoder of the chunked transfer coding (RFC 9112, 7.1).
 *
 * What     Sizes of one to eight hexadecimal digits and nothing around them, lines that end in CR
 *          LF, extensions of at most 100 bytes a chunk and trailers, both of no consequence.
 * Owns     Nothing. The state of a body is kept in libh2o's own struct, zeroed at its start.
 * Threads  One thread at a time for a decoder.
 */
#ifndef COMMON_HTTP_CHUNKED_H
#define COMMON_HTTP_CHUNKED_H

#include <sys/types.h>

#include "common/http/phr.h"

#define CHUNKED_MALFORMED  (-1)
#define CHUNKED_INCOMPLETE (-2)
#define CHUNKED_TOO_LARGE  (-3)

/* As phr_decode_chunked(); a body of more than `max` bytes is too large as soon as a chunk's size
   says so. After an error the decoder is not to be used again. */
ssize_t chunked_decode(struct phr_chunked_decoder *decoder, char *p, size_t *n, size_t max);

#endif
