/*
 * attempt - one delivery that this process has claimed: the request, its progress and its result.
 *
 * What     Data, and what can be said of one attempt; attempts.h has all of them and makes them
 *          advance.
 * Owns     An attempt owns its arena, which holds its texts.
 * Threads  The sender's. One that has ended does not change, and any thread may read it.
 */
#ifndef SERVICES_WEBHOOK_ATTEMPT_H
#define SERVICES_WEBHOOK_ATTEMPT_H

#include "common/base/arena.h"
#include "services/webhook/webhook_url.h"

#define ATTEMPT_LIMIT_MS    8000 /* in all, from the lookup to the end of the response's headers */
#define ATTEMPT_BODY_MS     1000 /* for the body after that, within the limit */
#define ATTEMPT_EXCERPT_MAX 4096
#define ATTEMPT_SIGNATURE   67 /* "v1=" and 64 hex digits */

enum failure {
#define FAILURE(symbol, name) symbol,
#include "services/webhook/failure.def"
#undef FAILURE
    FAILURES
};

const char *failure_name(enum failure failure);

struct lookup;
struct connecting;
struct transfer;

struct attempt {
    struct arena arena;

    /* The delivery and the number of its claim (fence), in the database's text. */
    struct str organization_id, endpoint_id, id, fence;

    /* The request. */
    struct str url, event_type, body;
    struct str sealed_secret;              /* in hex; STR_NONE = the endpoint wants no signature */
    char signature[ATTEMPT_SIGNATURE + 1]; /* "" = none */
    int64_t timestamp;                     /* Unix seconds: signed */
    struct webhook_url parsed_url;
    struct address address; /* the one that is connected, or was tried last: connect.h */
    bool has_address;
    enum failure prepared; /* FAILURE_NONE: the request can be made */

    bool is_waiting;   /* for another attempt to the endpoint to end */
    int64_t taken_us;  /* clock_mono_us(): when it was claimed */
    int64_t waited_us; /* in the queue until then */
    int64_t begun_us;  /* clock_mono_us() */
    int64_t due_us;    /* clock_mono_us(): when the step that is in progress is given up */
    int64_t started_ms, finished_ms;

    /* The steps in progress; NULL if none. During a transfer, `connecting` has the other
       addresses. */
    struct lookup *lookup;
    struct connecting *connecting;
    struct transfer *transfer;

    /* The result. The time of a phase that was not reached is -1; connecting
       takes the attempts with earlier addresses, their TLS included. */
    bool has_ended;
    enum failure failure;
    int http_status; /* 0 = no response */
    int64_t dns_us, connect_us, tls_us, wait_us, total_us;
    size_t excerpt_n;
    char excerpt[ATTEMPT_EXCERPT_MAX];
};

/* When ATTEMPT_LIMIT_MS has passed, by clock_mono_us(). */
int64_t attempt_limit_us(const struct attempt *attempt);
/* Records the end; FAILURE_NONE is a success. */
void attempt_end(struct attempt *attempt, enum failure failure);

/* Makes text safe to display: invalid UTF-8, control characters other than \n and \t, and
   characters that change the direction of writing become full stops. The result is never longer. */
struct str attempt_inert(struct arena *arena, struct str bytes);

/* -- payloads ---------------------------------------------------------------------------------- */

/* {"id":"evt_...","type":...,"created_at":...,"data":{...}}; `id`: 32 hex digits, `data`: JSON. */
struct str payload_write(struct arena *arena, struct str id, struct str type, int64_t created_at,
                         struct str data);

/* "v1=" and the HMAC-SHA-256 of timestamp, full stop and body, keyed with the whole secret. */
void payload_sign(struct arena *arena, struct str secret, int64_t timestamp, struct str body,
                  char signature[ATTEMPT_SIGNATURE + 1]);

#endif
