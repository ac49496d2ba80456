/*
 * attempts - deliveries under way, each in its slot: the request, its result, and their progress.
 *
 * What     A claim becomes an attempt, which lives in its slot until it is completed: body and
 *          signature are made once, the URL is checked again, its name is looked up, every address
 *          of it is checked, and off it goes to the first one (dns_lookup.h, address_policy.h,
 *          transfer.h). So it is handed on: sender (claimed) -> lookup -> transfer -> sender (ended)
 *          -> queue (completed). Nothing here waits for a receiver or a name server.
 * Owns     attempts_new() gives what attempts_free() takes back. An attempt owns its arena, which
 *          holds the texts; its slot keeps both for the next one.
 * Threads  The sender's, apart from attempts_wake().
 * Fails    NULL (logged): an option is unusable. Attempts themselves always end.
 */
#ifndef SERVICES_WEBHOOK_ATTEMPTS_H
#define SERVICES_WEBHOOK_ATTEMPTS_H

#include <poll.h>

#include "common/base/arena.h"
#include "common/base/uuid.h"
#include "services/webhook/webhook_url.h"

/* -- one attempt ------------------------------------------------------------------------------- */

#define ATTEMPT_LIMIT_MS    8000 /* for everything, from the look-up to the answer's end */
#define ATTEMPT_EXCERPT_MAX 4096
#define ATTEMPT_SIGNATURE   67 /* "v1=" and 64 hex digits */

enum failure {
#define FAILURE(symbol, name) symbol,
#include "services/webhook/failure.def"
#undef FAILURE
    FAILURES
};

const char *failure_name(enum failure failure);

struct dns_lookup;
struct transfer;

struct attempt {
    struct arena arena;

    /* The delivery: as the database wrote them. */
    struct str organization_id, endpoint_id, id, fence;

    /* The request. */
    struct str url, event_type, body;
    char signature[ATTEMPT_SIGNATURE + 1]; /* "" = the endpoint wants none */
    int64_t timestamp;                     /* Unix seconds: signed */
    struct webhook_url parsed_url;
    struct address address; /* the one that is connected to */
    bool has_address;

    int64_t begun_us; /* clock_mono_us() */
    int64_t started_ms, finished_ms;

    /* Whichever has it at the moment; NULL if none. */
    struct dns_lookup *lookup;
    struct transfer *transfer;

    /* What came of it. A phase that was not reached took no time: -1. */
    bool has_ended;
    enum failure failure;
    int http_status; /* 0 = no answer */
    int64_t dns_us, connect_us, tls_us, wait_us, total_us;
    size_t excerpt_n;
    char excerpt[ATTEMPT_EXCERPT_MAX];
};

/* Milliseconds of its time that are left; 0 when it is over. */
int attempt_left_ms(const struct attempt *attempt);
/* FAILURE_NONE is a success. */
void attempt_end(struct attempt *attempt, enum failure failure);

/* Text that is harmless wherever it is shown: invalid UTF-8, control characters and characters that
   turn the direction of writing become full stops. At most as long as it was. */
struct str attempt_inert(struct arena *arena, struct str bytes);

/* -- payloads ---------------------------------------------------------------------------------- */

/* {"id":"evt_...","type":...,"created_at":...,"data":{...}}: `id` is 32 hex digits, `data` is JSON.
 */
struct str payload_write(struct arena *arena, struct str id, struct str type, int64_t created_at,
                         struct str data);

/* "v1=" and HMAC-SHA-256, keyed with the whole secret, of timestamp, full stop and body. */
void payload_sign(struct arena *arena, struct str secret, int64_t timestamp, struct str body,
                  char signature[ATTEMPT_SIGNATURE + 1]);

/* -- all of them ------------------------------------------------------------------------------- */

#define ATTEMPTS_FDS_MAX 4

struct delivery_claim; /* queue.h */
struct sender_metrics; /* sender.h */
struct webhook;        /* webhook.h */
struct attempts;

struct attempts_options {
    const char *dns_servers, *ca_file; /* NULL = the system's */
    int slots;
    const struct webhook *webhook;
    struct sender_metrics *metrics;
};

struct attempts *attempts_new(const struct attempts_options *options);
void attempts_free(struct attempts *attempts);

/* Takes a vacant slot; there must be one. */
void attempts_begin(struct attempts *attempts, const struct delivery_claim *claim);
size_t attempts_vacant(const struct attempts *attempts);

/* Sleeps until something is to be done, or one of `fds` is ready, or the time is over; does it. */
void attempts_wait(struct attempts *attempts, struct pollfd *fds, size_t n, int timeout_ms);
void attempts_wake(struct attempts *attempts); /* from any thread */

/* The fences of those under way, as PostgreSQL writes an array; good until the next call. */
struct str attempts_fences(struct attempts *attempts);

/* Those that wait to be completed, in the order of their ends; and when the first `n` are, their
   slots become vacant. Until then they do not change, whatever thread looks at them. */
struct attempt *const *attempts_ended(const struct attempts *attempts, size_t *n);
void attempts_forget_ended(struct attempts *attempts, size_t n);

#endif
