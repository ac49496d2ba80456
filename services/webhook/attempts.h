/*
 * attempts - deliveries under way, each in a slot: the request, its progress and its result.
 *
 * What     A claim becomes an attempt, which occupies a slot until it is completed. Body and
 *          signature are made once, the URL is checked again, its host is looked up, every address
 *          found is checked, and the request goes to the first one (dns_lookup.h, address_policy.h,
 *          transfer.h). An attempt passes through: sender (claimed) -> lookup -> transfer -> sender
 *          (ended) -> queue (completed). Nothing here blocks on a receiver or a name server.
 * Owns     attempts_free() frees what attempts_new() returns. An attempt owns its arena, which
 *          holds its texts; the slot reuses the arena for the next attempt.
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

#define ATTEMPT_LIMIT_MS    8000 /* in all, from the lookup to the end of the response */
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

    /* The delivery and the number of its claim (fence), in the database's text. */
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

    /* The one in progress; NULL if none. */
    struct dns_lookup *lookup;
    struct transfer *transfer;

    /* The result. The time of a phase that was not reached is -1. */
    bool has_ended;
    enum failure failure;
    int http_status; /* 0 = no response */
    int64_t dns_us, connect_us, tls_us, wait_us, total_us;
    size_t excerpt_n;
    char excerpt[ATTEMPT_EXCERPT_MAX];
};

/* Milliseconds left of ATTEMPT_LIMIT_MS; 0 when it has passed. */
int attempt_left_ms(const struct attempt *attempt);
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

/* There must be a vacant slot. */
void attempts_begin(struct attempts *attempts, const struct delivery_claim *claim);
size_t attempts_vacant(const struct attempts *attempts);

/* Sleeps until an attempt or one of `fds` is ready, attempts_wake() is called or the timeout
   expires; then advances the attempts. */
void attempts_wait(struct attempts *attempts, struct pollfd *fds, size_t n, int timeout_ms);
void attempts_wake(struct attempts *attempts); /* from any thread */

/* The fences of attempts under way, in PostgreSQL's array syntax; valid until the next call. */
struct str attempts_fences(struct attempts *attempts);

/* The attempts that wait to be completed, in the order in which they ended. When the first `n` are
   completed, attempts_forget_ended() vacates their slots; until then they do not change, and any
   thread may read them. */
struct attempt *const *attempts_ended(const struct attempts *attempts, size_t *n);
void attempts_forget_ended(struct attempts *attempts, size_t n);

#endif
