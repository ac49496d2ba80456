#include "services/webhook/attempts.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/crypto/crypto.h"
#include "common/db/params.h"
#include "services/webhook/queue.h"
#include "services/webhook/sender_metrics.h"
#include "services/webhook/steps.h"
#include "services/webhook/webhook.h"

/* -- slots ------------------------------------------------------------------------------------- */

enum {
    ARENA_MAX = 1024 * 1024, /* of an attempt */
    DATA_MAX = 64 * 1024,
    EVENT_TYPE_MAX = 64,
};

/* Its claim is ours and not yet to be completed. */
static bool is_claimed(const struct attempt *attempt)
{
    return attempt->fence.p != NULL && !attempt->has_ended;
}

struct attempts {
    struct attempts_options options;
    struct steps *steps;

    /* Every slot is vacant, waiting, under way or ended. */
    struct attempt *all;
    struct attempt **vacant, **waiting, **ended;
    size_t n_vacant, n_waiting, n_ended;
    size_t n_given_back;

    struct arena scratch; /* for attempts_fences() */
};

/* -- waiting for attempts to the same endpoint -------------------------------------------------- */

static bool have_one_endpoint(const struct attempt *a, const struct attempt *b)
{
    return str_equal(a->endpoint_id, b->endpoint_id) &&
           str_equal(a->organization_id, b->organization_id);
}

static bool has_room(const struct attempts *attempts, const struct attempt *attempt)
{
    int n = 0;

    for (int i = 0; i < attempts->options.slots; i++) {
        const struct attempt *other = &attempts->all[i];

        if (is_claimed(other) && !other->is_waiting && have_one_endpoint(other, attempt))
            n++;
    }
    return n < ATTEMPTS_AN_ENDPOINT;
}

static void vacate(struct attempts *attempts, struct attempt *attempt)
{
    attempts->vacant[attempts->n_vacant++] = attempt;
    metric_add(attempts->options.metrics->claimed, -1);
}

static struct attempt *stop_waiting(struct attempts *attempts, size_t i)
{
    struct attempt *attempt = attempts->waiting[i];

    attempts->n_waiting--;
    memmove(&attempts->waiting[i], &attempts->waiting[i + 1],
            (attempts->n_waiting - i) * sizeof(struct attempt *));
    attempt->is_waiting = false;
    return attempt;
}

static void give_back(struct attempts *attempts, size_t i)
{
    struct attempt *attempt = stop_waiting(attempts, i);

    attempt->fence = STR_NONE;
    vacate(attempts, attempt);
    attempts->n_given_back++;
}

static void give_back_others(struct attempts *attempts, const struct attempt *failed)
{
    for (size_t i = attempts->n_waiting; i-- > 0;)
        if (have_one_endpoint(attempts->waiting[i], failed))
            give_back(attempts, i);
}

static void give_back_late(struct attempts *attempts)
{
    const int64_t latest_us = clock_mono_us() - attempts->options.wait_timeout_us;

    while (attempts->n_waiting > 0 && attempts->waiting[0]->taken_us < latest_us)
        give_back(attempts, 0);
}

void attempts_give_back(struct attempts *attempts)
{
    while (attempts->n_waiting > 0)
        give_back(attempts, attempts->n_waiting - 1);
}

size_t attempts_given_back(const struct attempts *attempts)
{
    return attempts->n_given_back;
}

void attempts_forget_given_back(struct attempts *attempts, size_t n)
{
    must(n <= attempts->n_given_back);
    attempts->n_given_back -= n;
}

/* -- on its way -------------------------------------------------------------------------------- */

static void begin(struct attempts *attempts, struct attempt *attempt);

static void begin_next(struct attempts *attempts, const struct attempt *succeeded)
{
    for (size_t i = 0; i < attempts->n_waiting; i++) {
        if (have_one_endpoint(attempts->waiting[i], succeeded)) {
            begin(attempts, stop_waiting(attempts, i));
            return;
        }
    }
}

static void on_end(void *closure, struct attempt *attempt)
{
    struct attempts *attempts = closure;

    metric_add(attempts->options.metrics->results[attempt->failure], 1);
    metric_observe(attempts->options.metrics->seconds, attempt->total_us);
    metric_add(attempts->options.metrics->in_flight, -1);
    attempts->ended[attempts->n_ended++] = attempt;
    if (attempt->failure == FAILURE_NONE)
        begin_next(attempts, attempt);
    else
        give_back_others(attempts, attempt);
}

static void end(struct attempts *attempts, struct attempt *attempt, enum failure failure)
{
    attempt_end(attempt, failure);
    on_end(attempts, attempt);
}

/* False: none of our keys opens the secret. */
static bool sign(const struct attempts *attempts, struct attempt *attempt)
{
    struct uuid organization, endpoint;
    char secret[ENDPOINT_SECRET_TEXT];

    if (!uuid_parse(attempt->organization_id, &organization) ||
        !uuid_parse(attempt->endpoint_id, &endpoint) ||
        !secret_open(&attempts->options.webhook->keys, &organization, &endpoint,
                     attempt->sealed_secret, secret)) {
        LOG(LOG_ERROR, "a secret cannot be decrypted with WEBHOOK_SECRET_KEY",
            log_slice("endpoint_id", attempt->endpoint_id));
        return false;
    }
    payload_sign(&attempt->arena, (struct str){secret, sizeof(secret)}, attempt->timestamp,
                 attempt->body, attempt->signature);
    crypto_wipe(secret, sizeof(secret));
    return true;
}

/* Our services write nothing else. The check keeps a malformed row from crashing the process. */
static bool is_sound(const struct delivery_claim *claim)
{
    for (size_t i = 0; i < claim->event_type.n; i++) {
        const char c = claim->event_type.p[i];

        if ((c < 'a' || c > 'z') && c != '.' && c != '_')
            return false;
    }
    return claim->event_type.n <= EVENT_TYPE_MAX && claim->url.n <= WEBHOOK_URL_MAX &&
           claim->data.n <= DATA_MAX;
}

static void begin(struct attempts *attempts, struct attempt *attempt)
{
    attempt->begun_us = clock_mono_us();
    attempt->started_ms = clock_us() / 1000;
    attempt->timestamp = clock_us() / 1000000;
    metric_add(attempts->options.metrics->in_flight, 1);
    metric_observe(attempts->options.metrics->wait_seconds,
                   attempt->waited_us + attempt->begun_us - attempt->taken_us);
    if (attempt->prepared != FAILURE_NONE)
        end(attempts, attempt, attempt->prepared);
    else if (attempt->sealed_secret.p != NULL && !sign(attempts, attempt))
        end(attempts, attempt, FAILURE_INTERNAL);
    else
        steps_begin(attempts->steps, attempt);
}

/* -- from a claim ------------------------------------------------------------------------------ */

/* Only the arena is kept from the attempt before. */
static struct attempt *take_slot(struct attempts *attempts, const struct delivery_claim *claim)
{
    struct attempt *attempt = attempts->vacant[--attempts->n_vacant];
    struct arena arena = attempt->arena;

    metric_add(attempts->options.metrics->claimed, 1);
    arena_clear(&arena);
    *attempt = (struct attempt){
        .arena = arena,
        .is_waiting = true,
        .taken_us = clock_mono_us(),
        .waited_us = claim->waited_us,
        .dns_us = -1,
        .connect_us = -1,
        .tls_us = -1,
        .wait_us = -1,
    };
    attempt->organization_id = arena_str(&attempt->arena, claim->organization_id);
    attempt->endpoint_id = arena_str(&attempt->arena, claim->endpoint_id);
    attempt->id = arena_str(&attempt->arena, claim->id);
    attempt->fence = arena_str(&attempt->arena, claim->fence);
    return attempt;
}

/* Copies what the request needs, since the claim is gone after the next transaction. */
static enum failure prepare(struct attempt *attempt, const struct delivery_claim *claim)
{
    if (!is_sound(claim)) {
        LOG(LOG_ERROR, "malformed event or endpoint: not written by our services",
            log_slice("event_id", claim->event_id), log_slice("endpoint_id", attempt->endpoint_id));
        return FAILURE_INTERNAL;
    }
    attempt->event_type = arena_str(&attempt->arena, claim->event_type);
    attempt->url = arena_str(&attempt->arena, claim->url);
    if (claim->data.p == NULL)
        return FAILURE_EXPIRED;
    attempt->body = payload_write(&attempt->arena, claim->event_id, attempt->event_type,
                                  claim->created_at, claim->data);
    if (claim->signs)
        attempt->sealed_secret = arena_str(&attempt->arena, claim->sealed_secret);
    return webhook_url_read(attempt->url, &attempt->parsed_url) != NULL ? FAILURE_BLOCKED
                                                                        : FAILURE_NONE;
}

void attempts_take(struct attempts *attempts, const struct delivery_claim *claim)
{
    struct attempt *attempt = take_slot(attempts, claim);

    attempt->prepared = prepare(attempt, claim);
    attempts->waiting[attempts->n_waiting++] = attempt;
    if (has_room(attempts, attempt))
        begin(attempts, stop_waiting(attempts, attempts->n_waiting - 1));
}

/* Of all that are under way. */
static int64_t next_due_us(const struct attempts *attempts)
{
    int64_t due_us = INT64_MAX;

    for (int i = 0; i < attempts->options.slots; i++) {
        const struct attempt *attempt = &attempts->all[i];

        if (is_claimed(attempt) && !attempt->is_waiting && attempt->due_us < due_us)
            due_us = attempt->due_us;
    }
    return due_us;
}

/* An attempt that begins when another ends is not due. */
static void give_up_late(struct attempts *attempts)
{
    const int64_t now_us = clock_mono_us();

    for (int i = 0; i < attempts->options.slots; i++) {
        struct attempt *attempt = &attempts->all[i];

        if (is_claimed(attempt) && !attempt->is_waiting && attempt->due_us <= now_us)
            steps_give_up(attempts->steps, attempt);
    }
}

/* -- all of them ------------------------------------------------------------------------------ */

size_t attempts_vacant(const struct attempts *attempts)
{
    return attempts->n_vacant;
}

struct attempt *const *attempts_ended(const struct attempts *attempts, size_t *n)
{
    *n = attempts->n_ended;
    return attempts->ended;
}

void attempts_forget_ended(struct attempts *attempts, size_t n)
{
    must(n <= attempts->n_ended);
    for (size_t i = 0; i < n; i++)
        vacate(attempts, attempts->ended[i]);
    for (size_t i = n; i < attempts->n_ended; i++)
        attempts->ended[i - n] = attempts->ended[i];
    attempts->n_ended -= n;
}

struct str attempts_fences(struct attempts *attempts)
{
    struct buf out;

    arena_clear(&attempts->scratch);
    array_open(&out, &attempts->scratch, 1024);
    for (int i = 0; i < attempts->options.slots; i++) {
        const struct attempt *attempt = &attempts->all[i];

        if (is_claimed(attempt))
            array_add_plain(&out, attempt->fence);
    }
    return array_close(&out);
}

void attempts_wait(struct attempts *attempts, struct pollfd *fds, size_t n, int timeout_ms)
{
    steps_wait(attempts->steps, fds, n,
               clock_left_ms(next_due_us(attempts), clock_mono_us(), timeout_ms));
    /* Before anything ends and begins another: the claims may have expired in a process that was
       suspended. */
    give_back_late(attempts);
    steps_advance(attempts->steps);
    give_up_late(attempts);
}

void attempts_wake(struct attempts *attempts)
{
    steps_wake(attempts->steps);
}

struct attempts *attempts_new(const struct attempts_options *options)
{
    struct attempts *attempts = heap_zeroed(1, sizeof(*attempts));
    const size_t n = (size_t)options->slots;

    attempts->options = *options;
    arena_init(&attempts->scratch, ARENA_MAX);
    attempts->all = heap_zeroed(n, sizeof(*attempts->all));
    attempts->vacant = heap_zeroed(n, sizeof(struct attempt *));
    attempts->waiting = heap_zeroed(n, sizeof(struct attempt *));
    attempts->ended = heap_zeroed(n, sizeof(struct attempt *));
    for (size_t i = 0; i < n; i++) {
        arena_init(&attempts->all[i].arena, ARENA_MAX);
        attempts->vacant[attempts->n_vacant++] = &attempts->all[i];
    }
    attempts->steps = steps_new(&(struct steps_options){
        .dns_servers = options->dns_servers,
        .ca_file = options->ca_file,
        .rules = &options->webhook->rules,
        .on_end = on_end,
        .closure = attempts,
    });
    if (attempts->steps != NULL)
        return attempts;
    attempts_free(attempts);
    return NULL;
}

void attempts_free(struct attempts *attempts)
{
    if (attempts == NULL)
        return;
    for (int i = 0; i < attempts->options.slots && attempts->steps != NULL; i++)
        steps_release(attempts->steps, &attempts->all[i]);
    steps_free(attempts->steps);
    for (int i = 0; i < attempts->options.slots; i++)
        arena_release(&attempts->all[i].arena);
    arena_release(&attempts->scratch);
    free(attempts->all);
    free(attempts->vacant);
    free(attempts->waiting);
    free(attempts->ended);
    free(attempts);
}
