/*
 * fake_front - the gateway's requests without a bus and without sockets.
 *
 * What     Stands in for common/http/calls.c, common/http/listener.c, common/bus, the clock, and of
 *          h2o for a connection, its timers and the two functions that send. Calls are kept until a
 *          test answers them, and responses until it looks at them. As with the real ones, a call
 *          never ends from within its start, and ends once unless it is cancelled.
 * Owns     Everything between fake_open() and fake_close(), which sees that each message and each
 *          key was given back.
 * Threads  One.
 */
#ifndef TESTS_UNIT_SERVICES_GATEWAY_FAKE_FRONT_H
#define TESTS_UNIT_SERVICES_GATEWAY_FAKE_FRONT_H

#include "services/gateway/api_request.h"

extern struct gateway gateway;

void fake_open(void);
void fake_close(void);

/* Time passes only so, and begins with a window of quotas. */
void fake_pass_ms(int64_t ms);

/* -- the bus --------------------------------------------------------------------------------- */

enum fake_bus {
    FAKE_BUS_ANSWERS,
    FAKE_BUS_SILENT, /* it may only have been kept waiting */
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

/* How many calls with this subject were started so far; NULL: all. */
size_t fake_count(const char *subject);
/* The one under way, of which there is to be one. */
struct fake_call *fake_call(const char *subject);
/* STR_NONE: it has no such header. */
struct str fake_header(const struct fake_call *call, const char *name);

/* End it; nothing happens to one that is over, as when a reply comes too late. Unrecorded: by a
   service that could not write its entry; `contact` is whom it found, NULL: nobody. */
void fake_reply(struct fake_call *call, const char *outcome, const char *body);
/* A conversation with this id was made. */
void fake_reply_created(struct fake_call *call, const char *id);
void fake_reply_unrecorded(struct fake_call *call, const char *outcome, const char *body,
                           const char *contact);
void fake_end(struct fake_call *call, enum call_end end);

/* A notice of access about an organization. */
void fake_invalidate(const char *organization_id);

/* -- keys ------------------------------------------------------------------------------------ */

#define FAKE_ORGANIZATION "0190a000-0000-7000-8000-00000000000a"
#define FAKE_API_KEY      "0190a000-0000-7000-8000-00000000000b"
#define FAKE_OTHER        "0190a000-0000-7000-8000-00000000000c"
#define FAKE_CONTACT      "0190a000-0000-7000-8000-00000000000d"

/* What access says of a good key of FAKE_ORGANIZATION. */
extern const char fake_record[];
/* The same, but with scope read, and of FAKE_OTHER. */
extern const char fake_record_read[], fake_record_other[];

/* -- requests -------------------------------------------------------------------------------- */

struct fake_request {
    h2o_req_t req; /* first: the two are one */
    struct api_request *api;
    int status;      /* 0: no response yet */
    int64_t late_us; /* when its timer ends its time; 0: it has none */
    char body[1024];
};

/* A GET of `path`, with what Authorization holds; NULL: none. */
struct fake_request *fake_get(const char *path, const char *authorization);
/* The client of the next requests. */
void fake_client(const char *address);
/* The value of a header of the response, STR_NONE: it has none. */
struct str fake_response_header(const struct fake_request *request, const char *name);
/* Time passes until that of the request is over. */
void fake_be_late(struct fake_request *request);
/* Its client has gone. */
void fake_leave(struct fake_request *request);

#endif
