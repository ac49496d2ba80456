/*
 * calls - requests on the bus whose answers are awaited.
 *
 * What     Every call that was started ends exactly once, in one of four ways, unless it is
 *          cancelled. A call is refused at once when the bus is not up or does not answer, so
 *          nothing is sent to a bus that might swallow it.
 * Owns     The table of calls. An answer's message is the callee's.
 * Threads  The loop's.
 */
#ifndef COMMON_EDGE_CALLS_H
#define COMMON_EDGE_CALLS_H

#include <h2o.h>

#include "common/bus/bus.h"
#include "common/edge/pulse.h"
#include "common/edge/slots.h"

enum call_end {
    CALL_ANSWERED,
    CALL_NOBODY, /* no service listens: nothing was done */
    CALL_LATE,   /* no answer in time: it may have been done */
    CALL_LOST,   /* the link went down: it may have been done */
};

/* Runs on the loop, never from within calls_start(). `message` is NULL unless CALL_ANSWERED. */
typedef void (*call_fn)(void *owner, enum call_end end, struct bus_message *message);

enum patience { PATIENCE_LONG, PATIENCE_SHORT, PATIENCE_COUNT };

#define CALL_SHORT_MS 1000
/* An answer that was sent at the deadline is on its way for a while. */
#define CALL_GRACE_MS 250

struct calls {
    h2o_loop_t *loop;
    struct bus *bus;
    const struct pulse *pulse;
    struct slots slots;
    struct call *at; /* by place */
    int64_t patience_ms[PATIENCE_COUNT];
    h2o_timeout_t timeouts[PATIENCE_COUNT];
};

struct call_request {
    const char *subject;
    struct bus_header *headers; /* room for HEADER_DEADLINE behind the last */
    size_t n_headers;
    struct str body;
    enum patience patience; /* how long the callee has */
    call_fn on_end;
    void *owner;
};

#define CALL_HEADERS_MOST 10

void calls_init(struct calls *calls, h2o_loop_t *loop, struct bus *bus, const struct pulse *pulse,
                size_t most, int64_t long_ms);
void calls_release(struct calls *calls);

bool calls_can_start(const struct calls *calls);
/* They cannot, but may in a moment: edge_hooks.on_bus_settled tells. */
bool calls_may_wait(const struct calls *calls);
/* ST_UNAVAILABLE: nothing was sent. *token names the call until its end. */
MUST_CHECK enum status calls_start(struct calls *calls, struct call_request *request,
                                   uint64_t *token);
/* Its end will not be told. A token that is not valid any more is fine. */
void calls_cancel(struct calls *calls, uint64_t token);

/* Events from the bus. */
void calls_answer(struct calls *calls, uint64_t token, enum bus_reply_kind kind,
                  struct bus_message *message);
void calls_lose_all(struct calls *calls);

#endif
