/*
 * framing - whether the framing of an HTTP/1 request is sound, checked before h2o 2.2.5 acts on it.
 *
 * What     That version accepts forms that smuggle requests past a proxy (Content-Length beside
 *          Transfer-Encoding, two Content-Lengths, continuation lines, bare line feeds, a chunk
 *          size of `0x3`) and refuses others itself in plain text, past every handler. A program
 *          that links this module overrides the two parsers libh2o calls, phr_parse_request() and
 *          phr_decode_chunked(). They never report an error to h2o: an unsound request becomes a
 *          complete `GET /` without headers, and one with too large a body becomes the same
 *          request without that body; h2o passes it to the handler at once, and the handler learns
 *          the fault by framing_take(). The connection must be closed after the answer, since the
 *          start of the next request is unknown.
 *          Its decoder of the chunked transfer coding (RFC 9112, 7.1) is strict: sizes of one to
 *          eight hexadecimal digits and nothing around them, lines that end in CR LF, extensions of
 *          at most 100 bytes a chunk and trailers of header fields, both of no consequence.
 * Owns     Nothing. The state of a chunked body is kept in libh2o's own struct, zeroed at its
 *          start.
 * Threads  Any; what framing_take() reports belongs to the calling thread. One thread at a time for
 *          a decoder.
 */
#ifndef COMMON_HTTP_FRAMING_H
#define COMMON_HTTP_FRAMING_H

#include <stddef.h>
#include <sys/types.h>

/* -- the parsers of libh2o --------------------------------------------------------------------- */

/* The functions of picohttpparser that libh2o 2.2.5 exports and calls, and their structs as its
   binary interface has them: the development package does not install the header. They own nothing:
   what they find points into the caller's bytes. Any thread. They return -1 for malformed
   and -2 for incomplete bytes. */

struct phr_header {
    const char *name; /* no NUL ends it, nor the value; NULL: the continuation of the line before */
    size_t name_len;  /* bytes */
    const char *value;
    size_t value_len; /* bytes */
};

/* State between two reads of a body, in memory of h2o, which zeroes it and sets consume_trailer.
   Only a decoder reads it; the comments say what ours keeps there. */
struct phr_chunked_decoder {
    size_t bytes_left_in_chunk; /* lower 32 bits; above them the bytes of the body decoded so far */
    char consume_trailer; /* not 0: the trailer belongs to the body; ours takes it so always */
    char _hex_count;      /* digits of a chunk's size, then bytes of its extensions */
    char _state;          /* what the next byte is part of */
};

/* Returns the bytes of request line and headers, of the `n` at `p`. `n_seen` of them were there at
   the call before. *n_headers: how many there is room for, then how many were found. *minor_version
   is the x of HTTP/1.x. */
int phr_parse_request(const char *p, size_t n, const char **method, size_t *method_n,
                      const char **target, size_t *target_n, int *minor_version,
                      struct phr_header *headers, size_t *n_headers, size_t n_seen);

/* The same for headers alone. */
int phr_parse_headers(const char *p, size_t n, struct phr_header *headers, size_t *n_headers,
                      size_t n_seen);

/* Decodes in place; *n, the bytes at `p`, becomes the number of bytes decoded. Returns how many
   bytes follow the body. */
ssize_t phr_decode_chunked(struct phr_chunked_decoder *decoder, char *p, size_t *n);

/* -- requests ---------------------------------------------------------------------------------- */

#define FRAMING_BODY_MAX   65536 /* bytes of a request's body */
#define FRAMING_HEADER_MAX 16384 /* bytes of request line and headers together */

/* A number in a message. */
#define FRAMING_TEXT(number)    FRAMING_LITERAL(number)
#define FRAMING_LITERAL(number) #number

enum framing_fault {
#define FRAMING_FAULT(symbol, status, message) symbol,
#include "common/http/framing.def"
#undef FRAMING_FAULT
    FRAMING_FAULT_COUNT
};

/* The fault of the request that h2o has just handed to the handler; call it first thing
   there, exactly once a request. */
enum framing_fault framing_take(void);

int framing_status(enum framing_fault fault);          /* HTTP status */
const char *framing_message(enum framing_fault fault); /* one sentence for the client */

/* -- the chunked transfer coding --------------------------------------------------------------- */

#define CHUNKED_MALFORMED  (-1)
#define CHUNKED_INCOMPLETE (-2)
#define CHUNKED_TOO_LARGE  (-3)

/* As phr_decode_chunked(); a body of more than `max` bytes is too large as soon as a chunk's size
   says so. After an error the decoder is not to be used again. */
ssize_t chunked_decode(struct phr_chunked_decoder *decoder, char *p, size_t *n, size_t max);

#endif
