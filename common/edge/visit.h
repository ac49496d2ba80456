/*
 * visit - one HTTP request from its arrival until it is done with, whatever it is for.
 *
 * What     Its id, its time, who is at the other end, and the one call on the bus that it awaits.
 *          A client that does not take its answer is cut off after a while: h2o would wait for
 *          ever.
 * Owns     Itself, as the first member of a program's own struct: that lives in the request's pool
 *          and is disposed of with it, whatever it waits for.
 * Threads  The loop's.
 */
#ifndef COMMON_EDGE_VISIT_H
#define COMMON_EDGE_VISIT_H

#include "common/base/uuid.h"
#include "common/edge/client.h"
#include "common/edge/edge.h"
#include "common/http/framing.h"
#include "common/trace/trace.h"

struct visit {
    struct edge *edge;
    h2o_req_t *req;
    void (*on_end)(struct visit *visit);
    int64_t started_us; /* monotonic */
    char id[UUID_TEXT + 1];
    enum framing_fault fault; /* not sound: the connection closes after the answer */
    struct address client;
    bool is_https;
    bool called;                            /* a call was started, which may have ended since */
    uint64_t call;                          /* the latest */
    char traceparent[TRACEPARENT_TEXT + 1]; /* for whom we ask, and the log; "" = no trace */
    struct span span;                       /* the program fills name, outcome and organization */
    h2o_timeout_entry_t send_timer;
    struct held_answer held;
};

/* Call first thing in the handler. `size` bytes that begin with the visit, zeroed. `on_end`, which
   may be NULL, runs when the request is done with: answered, or its client is gone. */
struct visit *visit_begin(h2o_req_t *req, size_t size, void (*on_end)(struct visit *visit));

/* Who is there, from the peer and what trusted proxies say; see client.h. */
void visit_meet(struct visit *visit, const struct str *forwarded_for, size_t n,
                struct str forwarded_proto);

/* Which trace it belongs to. `traceparent` is the header as it came, STR_NONE unless it came once;
   without one a trace may begin here. */
void visit_trace(struct visit *visit, struct str traceparent);
/* Call when the answer is known; does nothing when its span is not recorded. */
void visit_end_span(struct visit *visit, int status);

/* Starts a call, which is cancelled if the request ends first. One at a time. */
MUST_CHECK enum status visit_call(struct visit *visit, struct call_request *request);

/* Call when the answer is about to be sent, and again whenever a part of it has been taken. */
void visit_sending(struct visit *visit);
/* The same, of an answer that is sent as a whole and occupies `n` bytes until it has been taken:
   too much of that, and whoever takes nothing for longest is cut off earlier. */
void visit_sending_whole(struct visit *visit, size_t n);

#endif
