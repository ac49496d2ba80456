/*
 * fake_front - the gateway's requests without a bus and without sockets.
 *
 * What     Stands in for common/http/calls.c, common/http/listener.c, common/bus, the clock, and
 *          parts of h2o: a connection, its timers and the two functions that send. Calls are kept
 *          until a test answers them, responses until it reads them. Like a real call, a fake one
 *          never ends within its start, and ends once unless it is cancelled.
 * Owns     Everything between fake_open() and fake_close(), which checks that each message and each
 *          key was released.
 * Threads  One.
 */
#ifndef TESTS_UNIT_SERVICES_GATEWAY_FAKE_FRONT_H
#define TESTS_UNIT_SERVICES_GATEWAY_FAKE_FRONT_H

#include "services/gateway/api_request.h"

extern struct gateway gateway;

void fake_open(void);
void fake_close(void);

/* The only way that time passes. The clock starts at the beginning of a quota window. */
void fake_pass_ms(int64_t ms);

/* -- the bus --------------------------------------------------------------------------------- */

enum fake_bus {
    FAKE_BUS_ANSWERS,
    FAKE_BUS_SILENT, /* no heartbeat, which may only be late: requests may wait */
    FAKE_BUS_AWAY
};

extern enum fake_bus fake_bus;

struct fake_call {
    const char *subject;
    char body[1024];
    struct {
        const char *name;
        char value[256];
    } headers[16];
    size_t n_headers;
    call_fn on_end;
    void *owner;
    bool is_over;
};

/* How many calls with this subject have started so far; NULL: with any. */
size_t fake_count(const char *subject);
/* The pending call with this subject. There must be exactly one. */
struct fake_call *fake_call(const char *subject);
/* STR_NONE: the call has no such header. */
struct str fake_header(const struct fake_call *call, const char *name);

/* End the call. For a call that is over they are no-ops, as a late reply is. Unrecorded: the
   service could not write its audit entry; `contact` is the contact that it found, NULL: none. */
void fake_reply(struct fake_call *call, const char *outcome, const char *body);
/* The conversation `id` was created. */
void fake_reply_created(struct fake_call *call, const char *id);
void fake_reply_unrecorded(struct fake_call *call, const char *outcome, const char *body,
                           const char *contact);
void fake_end(struct fake_call *call, enum call_end end);

/* A notice from access about an organization. */
void fake_invalidate(const char *organization_id);

/* -- keys ------------------------------------------------------------------------------------ */

#define FAKE_ORGANIZATION "0190a000-0000-7000-8000-00000000000a"
#define FAKE_API_KEY      "0190a000-0000-7000-8000-00000000000b"
#define FAKE_OTHER        "0190a000-0000-7000-8000-00000000000c"
#define FAKE_CONTACT      "0190a000-0000-7000-8000-00000000000d"

/* The reply of access for a valid key of FAKE_ORGANIZATION. */
extern const char fake_record[];
/* The same with scope read, and for FAKE_OTHER. */
extern const char fake_record_read[], fake_record_other[];

/* -- requests -------------------------------------------------------------------------------- */

struct fake_request {
    h2o_req_t req; /* first: each is cast to the other */
    struct api_request *api;
    int status;      /* 0: no response yet */
    int64_t late_us; /* when its timer fires; 0: it has none */
    char body[1024];
};

/* A GET of `path` with this Authorization header; NULL: none. */
struct fake_request *fake_get(const char *path, const char *authorization);
/* The same with PUT and the body {}. */
struct fake_request *fake_put(const char *path, const char *authorization);
/* The client address of the following requests. */
void fake_client(const char *address);
/* The value of a header of the response; STR_NONE: no such header. */
struct str fake_response_header(const struct fake_request *request, const char *name);
/* Time passes until the request's timer fires. */
void fake_be_late(struct fake_request *request);
/* The timer of postponed requests fires. It must be set: somebody waits. */
void fake_look(void);
/* The request's client disconnects. */
void fake_leave(struct fake_request *request);

#endif
