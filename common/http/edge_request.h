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
 * Threads  The loop's, except for edge_metrics_open(). client_address() and client_is_https() are
 *          pure.
 */
#ifndef COMMON_HTTP_EDGE_REQUEST_H
#define COMMON_HTTP_EDGE_REQUEST_H

#include "common/base/arena.h"
#include "common/base/clock_check.h"
#include "common/base/ip.h"
#include "common/base/metrics.h"
#include "common/base/uuid.h"
#include "common/http/calls.h"
#include "common/http/framing.h"
#include "common/http/request_headers.h"
#include "common/trace/trace.h"
#include "proto/outcome.h"

/* -- the send budget ------------------------------------------------------------------------- */

/* Limits the memory that large responses occupy until their clients have read them; one budget for
   each event loop. A client that reads nothing is cut off after some seconds, but until then a few
   of them could need more memory than there is. Above the budget, the responses that have waited
   longest are dropped first. Small responses, which sockets take at once, do not count. */

#define SEND_BUDGET_SMALLEST ((size_t)64 * 1024)

/* One response that waits; zeroed before its first use. */
struct send_budget_entry {
    h2o_linklist_t link;
    size_t n; /* bytes */
};

struct send_budget {
    h2o_linklist_t entries; /* oldest first */
    size_t n, max;          /* bytes */
};

void send_budget_init(struct send_budget *send_budget, size_t max);
/* Call when the response is about to be sent. */
void send_budget_add(struct send_budget *send_budget, struct send_budget_entry *entry, size_t n);
/* Call when the client has read the response or it was dropped; an entry that was never added is
   fine. */
void send_budget_remove(struct send_budget *send_budget, struct send_budget_entry *entry);
/* The next response to drop, already removed; NULL: all are within the budget. */
struct send_budget_entry *send_budget_excess(struct send_budget *send_budget);

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
    h2o_timeout_entry_t send_timer;
    struct send_budget_entry unsent;
    h2o_timeout_entry_t limit_timer;
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

/* -- the client's address -------------------------------------------------------------------- */

#define CLIENT_HOPS_MAX 32

/* What a proxy reports counts only if the proxy is trusted. X-Forwarded-For, `n` lines in the order
   of the request, is read from the right: each trusted hop vouches for the one before it. The walk
   ends at the first address that is not trusted, at something that is not an address (the result is
   then the trusted hop that reported it), or after CLIENT_HOPS_MAX hops. */
struct address client_address(const struct address *peer, const struct networks *trusted,
                              const struct str *forwarded_for, size_t n);

/* `own_tls`: our own listener terminated TLS. `forwarded_proto`: the last line of the header, whose
   last element counts, or STR_NONE. */
bool client_is_https(bool own_tls, const struct address *peer, const struct networks *trusted,
                     struct str forwarded_proto);

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

/* -- metrics --------------------------------------------------------------------------------- */

/* The metrics of every program at the edge: one set for each process, never freed. Gauges show the
   present value, counters count since the start; times are in seconds. */
struct edge_metrics {
    /* of requests and connections */
    struct metric *in_flight;           /* gauge: requests that have not ended */
    struct metric *connections;         /* gauge: clients' open connections */
    struct metric *connections_refused; /* closed at once: their address or network has too many */
    struct metric *connections_shed;    /* idle ones, closed to make room */
    struct metric *slow_readers;        /* connections: the client did not read the response */
    struct metric *framing_faults;      /* requests with invalid framing, or too large */
    /* of the bus */
    struct metric *loops_ready;       /* gauge: loops that listen and have a live bus */
    struct metric *heartbeats_missed; /* ticks of a loop's timer without the heartbeat */
    struct metric *late_replies; /* to calls that had ended (those that bus_awaited_fn lets in) */
    /* Gauges: seconds that our clock is ahead of theirs; negative: behind. */
    struct metric *clock_apart[CLOCK_WITNESSES];
    struct metric *clock_checks; /* replies that were to carry the time */
};

extern struct edge_metrics edge_metrics;

/* Call once, before threads start; then any thread may update them. `prefix` begins their names,
   such as "conversations_gateway_". */
void edge_metrics_open(const char *prefix);

#endif
