/*
 * edge_request - one HTTP request from its arrival to its end, in any program.
 *
 * What     Its id, its client's address, its time limits, the one call on the bus that it awaits and
 *          how that ended, and the memory that its response occupies until the client has read it.
 *          A client that does not read the response is cut off after a while; h2o would wait
 *          forever.
 * Owns     Itself, as the first member of a program's own struct, which lives in the request's pool
 *          and is disposed of with it, even while it waits for something. Slices point into the
 *          request, the body of a reply into its message.
 * Threads  The loop's.
 */
#ifndef COMMON_HTTP_EDGE_REQUEST_H
#define COMMON_HTTP_EDGE_REQUEST_H

#include "common/base/arena.h"
#include "common/base/ip.h"
#include "common/base/uuid.h"
#include "common/http/calls.h"
#include "common/http/framing.h"
#include "common/http/request_headers.h"
#include "common/http/send_budget.h"
#include "common/http/timer.h"
#include "common/trace/trace.h"
#include "proto/outcome.h"

/* -- the request ----------------------------------------------------------------------------- */

struct edge;

/* A request has two time limits, however many steps it takes: until the command is done, and then
   until it is recorded. Together they end within COMMAND_TIMEOUT_MS plus a second. */
enum edge_request_limit {
    EDGE_REQUEST_LIMIT_COMMAND,
    EDGE_REQUEST_LIMIT_RECORD,
    EDGE_REQUEST_LIMITS
};
#define EDGE_REQUEST_RECORD_MS 500
/* A client that has not read its response by then is cut off. */
#define EDGE_REQUEST_SEND_MS 10000

struct edge_request {
    struct edge *edge;
    h2o_req_t *req;
    void (*on_end)(struct edge_request *request);
    int64_t started_us; /* monotonic */
    int64_t limited_us; /* likewise; when the limits begin */
    char id[UUID_TEXT + 1];
    struct arena arena;       /* small texts of the program's own; released with the request */
    enum framing_fault fault; /* if there is one, the connection closes after the response */
    struct address client;
    bool is_https;
    bool called;                            /* a call was started, which may have ended since */
    uint64_t call;                          /* the latest */
    char traceparent[TRACEPARENT_TEXT + 1]; /* for our calls and the log; "" = no trace */
    struct span span;                       /* the program fills name, outcome and organization */
    struct timer send_timer;
    struct send_budget_entry unsent;
    struct timer limit_timer;
    void (*on_late)(struct edge_request *request);
};

/* Call first in the handler. Allocates `size` zeroed bytes that begin with the edge_request.
   `on_end`, which may be NULL, runs when the request ends: it is answered, or its client is
   gone. */
struct edge_request *edge_request_begin(h2o_req_t *req, size_t size,
                                        void (*on_end)(struct edge_request *request));

/* Reads the headers, and derives from them the client's address (the peer's, or what trusted
   proxies report) and the trace, which may begin here. */
void edge_request_read(struct edge_request *request, struct request_headers *headers);

/* -- its time -------------------------------------------------------------------------------- */

/* `on_late` runs when the limit is reached; if the request continues, set the other limit then.
   Sending a response ends the limit. */
void edge_request_limit(struct edge_request *request, enum edge_request_limit limit,
                        void (*on_late)(struct edge_request *request));
/* Call when a part of the response has been sent: the limit starts again from now, so the next part
   has as much time as the whole had. */
void edge_request_restart_limit(struct edge_request *request);
/* The deadline of a call that must have its reply before the limit; by clock_mono_us(). */
int64_t edge_request_until_us(const struct edge_request *request, enum edge_request_limit limit);

/* -- its calls ------------------------------------------------------------------------------- */

/* Starts a call, which is cancelled if the request ends first. One at a time. */
MUST_CHECK enum status edge_request_call(struct edge_request *request,
                                         const struct call_request *call);
/* Cancels the call that is in flight, if there is one. */
void edge_request_cancel_call(struct edge_request *request);

/* How a command ended. OUTCOME_UNCERTAIN: it may have been carried out, with an unknown result; one
   that only reads has then changed nothing, and is OUTCOME_UNAVAILABLE. *body, which points into the
   message, is the service's answer, or STR_NONE if we must write our own. */
enum outcome call_outcome(enum call_end end, struct bus_message *message, bool writes,
                          struct str *body);

/* -- its response ---------------------------------------------------------------------------- */

/* Call when the response is known; does nothing if its span is not recorded. */
void edge_request_end_span(struct edge_request *request, int status);
/* Call when the response is about to be sent, and again whenever the client has read a part of
   it. */
void edge_request_sending(struct edge_request *request);
/* The same for a response that is sent as a whole and occupies `n` bytes until the client has read
   it. Above the send budget, the client that has read nothing for the longest time is cut off. */
void edge_request_sending_whole(struct edge_request *request, size_t n);
/* Ends the request and its connection without a response. */
void edge_request_drop(struct edge_request *request);

#endif
