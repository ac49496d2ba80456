/*
 * calls - requests on the bus whose replies are awaited, and whether the bus answers.
 *
 * What     Every call that was started ends exactly once, in one of four ways, unless it is
 *          cancelled. A call with CALL_TIMEOUT_OWNER never times out by itself. A call is refused at
 *          once if the bus is not up or does not answer, so nothing is sent to a bus that may lose
 *          it.
 *          A handle names a call: its index in the table, and the generation of that entry, which
 *          changes with every use. So a handle is never valid again once its call has ended (an
 *          entry would have to be used 2^48 times), and a late reply never matches a newer call.
 *          The bus asks this table which replies are awaited (bus_open_inbox()); it
 *          keeps only the handles of each bundle.
 * Owns     The table of calls. A reply's message is passed to the call's owner, who frees it.
 * Threads  The loop's.
 */
#ifndef COMMON_HTTP_CALLS_H
#define COMMON_HTTP_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bus/bus.h"
#include "common/http/timer.h"

/* -- the heartbeat --------------------------------------------------------------------------- */

/* Whether the bus is alive, from messages that a program sends to itself. One is in flight at a
   time. If it is overdue another is sent, because losing one message does not mean that the bus is
   down. Its absence is counted in ticks of our own timer, not measured in time: a delay of the
   program delays the timer, too. The bus counts as silent until it has answered on the present
   link. While the program makes no calls and the bus answers, the timer rests: it ticks every two
   seconds, for readiness, and at once when a call is made. */

#define HEARTBEAT_MS           25
#define HEARTBEAT_REST_MS      2000
#define HEARTBEAT_RESEND_TICKS 40 /* ticks until another is sent */
#define HEARTBEAT_GRACE_TICKS  20 /* ticks of silence that may be due to a lack of CPU */

struct heartbeat {
    unsigned timeout_ticks; /* missed ticks after which the bus counts as silent */
    bool has_answered;      /* on this link */
    bool awaited;
    unsigned missed; /* ticks since it was sent, not counting that one */
    uint64_t n_sent;
};

void heartbeat_init(struct heartbeat *heartbeat, unsigned timeout_ms);

/* Call at every tick of the timer. True: send a heartbeat now, with heartbeat_handle(). */
bool heartbeat_tick(struct heartbeat *heartbeat);
void heartbeat_received(struct heartbeat *heartbeat);
/* The heartbeat could not be sent. A silent bus stays silent. */
void heartbeat_not_sent(struct heartbeat *heartbeat);
/* The link went down, and the heartbeat with it, or a new one came up. */
void heartbeat_reset(struct heartbeat *heartbeat);
/* The handle of the latest heartbeat. Each has a different one, which no call has. */
uint64_t heartbeat_handle(const struct heartbeat *heartbeat);
bool heartbeat_has_handle(uint64_t handle); /* true: a heartbeat's; false: a call's */
/* If several are overdue, only the latest is awaited; otherwise the bus would listen for the others
   forever. */
bool heartbeat_is_awaited(const struct heartbeat *heartbeat, uint64_t handle);
bool heartbeat_is_silent(const struct heartbeat *heartbeat);
/* It has been silent for so long that requests should not wait for it. */
bool heartbeat_is_given_up(const struct heartbeat *heartbeat);

/* -- calls ----------------------------------------------------------------------------------- */

enum call_end {
    CALL_REPLIED,
    CALL_NOBODY, /* no service listens: nothing was done */
    CALL_LATE,   /* no reply in time: it may have been done */
    CALL_LOST,   /* the link went down: it may have been done */
};

/* Runs on the loop, never within calls_start(). `message` is NULL unless CALL_REPLIED. */
typedef void (*call_fn)(void *owner, enum call_end end, struct bus_message *message);

/* How long the service has, and who ends the call. */
enum call_timeout {
    CALL_TIMEOUT_SHORT,
    CALL_TIMEOUT_OWNER, /* until `until_us`; the owner cancels it soon after */
};

#define CALL_SHORT_MS 1000
/* How long a reply that was sent at the deadline may take to arrive. */
#define CALL_GRACE_MS 250

struct calls {
    struct timers *timers;
    struct bus *bus;
    const struct heartbeat *heartbeat;
    struct call *at;
    size_t max;
    uint32_t first_free;
    uint64_t n_started;
    unsigned link; /* how often the link was lost */
    int64_t short_ms;
    /* Our clock minus that of access, as far as it is known: deadlines for access are by its clock, so
       that it runs our commands even if it is wrong. */
    int64_t access_skew_ms;
};

/* Including the deadline. */
#define CALL_HEADERS_MAX 10

/* Names and values must live until calls_start() has returned. */
struct call_headers {
    struct bus_header at[CALL_HEADERS_MAX];
    size_t n;
};

void call_headers_add(struct call_headers *headers, const char *name, const char *value);

struct call_request {
    const char *subject;
    const char *cell; /* the cell that answers, if the subject belongs to cells; NULL: main */
    struct call_headers headers; /* without the deadline, which calls_start() adds */
    struct str body;
    enum call_timeout timeout;
    int64_t until_us; /* CALL_TIMEOUT_OWNER: by clock_mono_us() */
    call_fn on_end;
    void *owner;
};

/* No call has the last index: handles with it are those of heartbeats. */
#define CALL_INDEX_BITS 16
#define CALLS_TABLE_MAX ((1U << CALL_INDEX_BITS) - 1)

/* `max` calls at a time; `max_ms` is an upper limit of CALL_SHORT_MS. */
void calls_init(struct calls *calls, struct timers *timers, struct bus *bus,
                const struct heartbeat *heartbeat, size_t max, int64_t max_ms);
void calls_release(struct calls *calls); /* cancels all that is pending */

bool calls_can_start(const struct calls *calls);
/* They cannot start now, but perhaps in a moment: edge_hooks.on_bus_settled reports it. */
bool calls_may_wait(const struct calls *calls);
/* ST_UNAVAILABLE: nothing was sent. *handle names the call until it ends. */
MUST_CHECK enum status calls_start(struct calls *calls, const struct call_request *request,
                                   uint64_t *handle);
/* on_end will not be called. A handle that is no longer valid is fine. */
void calls_cancel(struct calls *calls, uint64_t handle);

/* Events from the bus, and its question whether a call is pending. */
void calls_on_reply(struct calls *calls, uint64_t handle, enum bus_reply_kind kind,
                    struct bus_message *message);
void calls_lose_all(struct calls *calls);
bool calls_is_pending(const struct calls *calls, uint64_t handle);

#endif
