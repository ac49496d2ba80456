/*
 * framing - checks the framing of an HTTP/1 request before h2o 2.2.5 acts on it.
 *
 * What     That version accepts forms that smuggle requests past a proxy (both Content-Length and
 *          Transfer-Encoding, two Content-Lengths, continuation lines, bare line feeds, a chunk
 *          size of `0x3`) and refuses others itself in plain text, bypassing every handler. A
 *          program that links this module overrides the two parsers that libh2o calls,
 *          phr_parse_request() and phr_decode_chunked(). They never report an error to h2o: a
 *          request whose body is too large is passed on without the body, and one with any other
 *          fault becomes a complete `GET /` without headers. h2o passes either to the handler at
 *          once, and the handler gets the fault with framing_take(). The connection must be closed
 *          after the answer, since the start of the next request is unknown.
 * Owns     Nothing.
 * Threads  Any; framing_take() reports the calling thread's fault.
 */
#ifndef COMMON_HTTP_FRAMING_H
#define COMMON_HTTP_FRAMING_H

#include <stddef.h>
#include <sys/types.h>

#include "common/http/chunked.h"

/* -- the parsers of libh2o --------------------------------------------------------------------- */

/* The functions of picohttpparser that libh2o 2.2.5 exports and calls, and their structs as in its
   binary interface: the development package does not install the header. They own nothing; their
   results point into the caller's bytes. Any thread. They return -1 for malformed and -2 for
   incomplete bytes. */

struct phr_header {
    const char *name; /* not NUL-terminated, nor is the value; NULL: continues the line before */
    size_t name_len;  /* bytes */
    const char *value;
    size_t value_len; /* bytes */
};

/* Returns the length of request line and headers in the `n` bytes at `p`. `n_seen` of these were
   there at the call before. *n_headers: the capacity, then how many were found. *minor_version is
   the x of HTTP/1.x. */
int phr_parse_request(const char *p, size_t n, const char **method, size_t *method_n,
                      const char **target, size_t *target_n, int *minor_version,
                      struct phr_header *headers, size_t *n_headers, size_t n_seen);

/* The same for headers only. */
int phr_parse_headers(const char *p, size_t n, struct phr_header *headers, size_t *n_headers,
                      size_t n_seen);

/* As chunked_decode(), without a maximum. */
ssize_t phr_decode_chunked(struct phr_chunked_decoder *decoder, char *p, size_t *n);

/* -- requests ---------------------------------------------------------------------------------- */

#define FRAMING_BODY_MAX   65536 /* bytes of a request's body */
#define FRAMING_HEADER_MAX 16384 /* bytes of request line and headers together */

/* A number as text in a message. */
#define FRAMING_TEXT(number)    FRAMING_LITERAL(number)
#define FRAMING_LITERAL(number) #number

enum framing_fault {
#define FRAMING_FAULT(symbol, status, message) symbol,
#include "common/http/framing.def"
#undef FRAMING_FAULT
    FRAMING_FAULT_COUNT
};

/* The fault of the request that h2o has just passed to the handler. Call it first in the handler,
   exactly once per request. */
enum framing_fault framing_take(void);

int framing_status(enum framing_fault fault);          /* HTTP status */
const char *framing_message(enum framing_fault fault); /* one sentence for the client */

#endif
