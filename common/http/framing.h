/*
 * framing - whether the framing of an HTTP/1 request is sound, checked before h2o 2.2.5 acts on it.
 *
 * What     That version accepts what lets requests be smuggled past a proxy (Content-Length beside
 *          Transfer-Encoding, two Content-Lengths, continuation lines, bare line feeds, a chunk
 *          size of `0x3`) and answers what it refuses in plain text, past every handler. A program
 *          that links this module overrides the two parsers libh2o calls, phr_parse_request() and
 *          phr_decode_chunked(). They never report an error to h2o: an unsound request becomes a
 *          complete `GET /` without headers, and one with too large a body becomes the same
 *          request without that body; h2o passes it to the handler at once, and the handler learns
 *          by framing_take() what was wrong. The connection must be closed after the answer, for
 *          where the next request starts is anybody's guess.
 * Threads  Any; what framing_take() reports belongs to the calling thread.
 */
#ifndef COMMON_HTTP_FRAMING_H
#define COMMON_HTTP_FRAMING_H

#include <stddef.h>

#define FRAMING_BODY_MAX   65536 /* bytes of a request's body */
#define FRAMING_HEADER_MAX 16384 /* bytes of request line and headers together */

enum framing_fault {
#define FRAMING_FAULT(symbol, status, message) symbol,
#include "common/http/framing.def"
#undef FRAMING_FAULT
    FRAMING_FAULT_COUNT
};

/* What is wrong with the request that h2o has just handed to the handler; call it first thing
   there, exactly once a request. */
enum framing_fault framing_take(void);

int framing_status(enum framing_fault fault);          /* HTTP status */
const char *framing_message(enum framing_fault fault); /* one sentence for the client */

#endif
