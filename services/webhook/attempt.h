/*
 * attempt - one delivery on its way: what is sent where, and what came of it.
 *
 * What     Lives in one of the sender's slots, from the claim until it is completed. Its parts hand
 *          it on: sender (claimed) -> lookup -> deliver -> sender (ended) -> store (completed).
 * Owns     Its arena, which holds the texts; the sender keeps both for the next attempt.
 * Threads  The sender's.
 */
#ifndef SERVICES_WEBHOOK_ATTEMPT_H
#define SERVICES_WEBHOOK_ATTEMPT_H

#include "common/base/arena.h"
#include "common/base/uuid.h"
#include "services/webhook/webhook_url.h"

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

    /* Whose it is: as the database wrote them. */
    struct str organization_id, endpoint_id, id, fence;

    /* What is sent. */
    struct str url, event_type, body;
    char signature[ATTEMPT_SIGNATURE + 1]; /* "" = the endpoint wants none */
    int64_t timestamp;                     /* Unix seconds: signed */
    struct webhook_url parsed_url;
    struct address address; /* the one that is connected to */
    bool has_address;

    int64_t begun_us; /* clock_mono_us() */
    int64_t started_ms, finished_ms;

    /* Who has it at the moment; NULL if none. */
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

/* Text that does nothing wherever it is shown: what is no UTF-8, control characters and what turns
   the direction of writing become full stops. At most as long as it was. */
struct str attempt_inert(struct arena *arena, struct str bytes);

#endif
