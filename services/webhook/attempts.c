#include "services/webhook/attempts.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/ascii.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "common/crypto/crypto.h"
#include "common/db/params.h"
#include "common/json/json.h"
#include "services/webhook/address_policy.h"
#include "services/webhook/dns_lookup.h"
#include "services/webhook/queue.h"
#include "services/webhook/sender.h"
#include "services/webhook/transfer.h"
#include "services/webhook/webhook.h"

/* -- one attempt ------------------------------------------------------------------------------- */

const char *failure_name(enum failure failure)
{
    static const char *const names[FAILURES] = {
#define FAILURE(symbol, name) [symbol] = (name),
#include "services/webhook/failure.def"
#undef FAILURE
    };

    return names[failure];
}

int attempt_left_ms(const struct attempt *attempt)
{
    const int64_t left_us = attempt->begun_us + ATTEMPT_LIMIT_MS * INT64_C(1000) - clock_mono_us();

    return left_us > 0 ? (int)((left_us + 999) / 1000) : 0;
}

void attempt_end(struct attempt *attempt, enum failure failure)
{
    attempt->has_ended = true;
    attempt->failure = failure;
    attempt->total_us = clock_mono_us() - attempt->begun_us;
    attempt->finished_ms = clock_us() / 1000;
}

static bool is_inert(uint32_t c)
{
    if (c == '\n' || c == '\t')
        return true;
    if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x200e || c == 0x200f || c == 0x061c)
        return false;
    return !(c >= 0x202a && c <= 0x202e) && !(c >= 0x2066 && c <= 0x2069);
}

struct str attempt_inert(struct arena *arena, struct str bytes)
{
    char *const out = arena_alloc(arena, bytes.n + 1);
    size_t n = 0;

    while (bytes.n > 0) {
        uint32_t code = 0;
        const size_t used = utf8_decode(bytes, &code);

        if (used > 0 && is_inert(code)) {
            memcpy(out + n, bytes.p, used);
            n += used;
        } else {
            out[n++] = '.';
        }
        bytes = str_skip(bytes, used > 0 ? used : 1);
    }
    return (struct str){out, n};
}

/* -- payloads ---------------------------------------------------------------------------------- */

struct str payload_write(struct arena *arena, struct str id, struct str type, int64_t created_at,
                         struct str data)
{
    struct buf out;

    buf_init(&out, arena, data.n + 160);
    buf_add(&out, STR("{\"id\":\"evt_"));
    buf_add(&out, id);
    buf_add(&out, STR("\",\"type\":"));
    json_add_string(&out, type);
    buf_add(&out, STR(",\"created_at\":"));
    buf_int(&out, created_at);
    buf_add(&out, STR(",\"data\":"));
    buf_add(&out, data);
    buf_char(&out, '}');
    return buf_str(&out);
}

void payload_sign(struct arena *arena, struct str secret, int64_t timestamp, struct str body,
                  char signature[ATTEMPT_SIGNATURE + 1])
{
    uint8_t mac[SHA256_BYTES];
    struct buf signed_bytes;

    buf_init(&signed_bytes, arena, body.n + 24);
    buf_int(&signed_bytes, timestamp);
    buf_char(&signed_bytes, '.');
    buf_add(&signed_bytes, body);
    crypto_hmac_sha256(secret, buf_str(&signed_bytes), mac);
    memcpy(signature, "v1=", sizeof("v1="));
    hex_write(mac, sizeof(mac), signature + 3);
}

/* -- slots ------------------------------------------------------------------------------------- */

enum {
    REFRESH_US = 30 * 1000 * 1000,
    ARENA_MAX = 1024 * 1024, /* of an attempt */
    DATA_MAX = 64 * 1024,
    EVENT_TYPE_MAX = 64,
};

struct attempts {
    struct attempts_options options;
    struct dns_lookups *lookups;
    struct transfers *transfers;
    struct address_policy policy;
    int64_t refresh_due_us; /* clock_mono_us() */

    /* Every slot is vacant, under way or ended. */
    struct attempt *all;
    struct attempt **vacant, **ended;
    size_t n_vacant, n_ended;

    struct arena scratch; /* for attempts_fences() */
};

/* -- on its way -------------------------------------------------------------------------------- */

static void on_end(void *closure, struct attempt *attempt)
{
    struct attempts *attempts = closure;

    metric_add(attempts->options.metrics->results[attempt->failure], 1);
    metric_observe(attempts->options.metrics->seconds, attempt->total_us);
    metric_add(attempts->options.metrics->under_way, -1);
    attempts->ended[attempts->n_ended++] = attempt;
}

static void end(struct attempts *attempts, struct attempt *attempt, enum failure failure)
{
    attempt_end(attempt, failure);
    on_end(attempts, attempt);
}

/* One address that is not allowed fails the delivery: such an answer is likely an attack. */
static enum failure check_addresses(const struct attempts *attempts,
                                    const struct address *addresses, size_t n)
{
    if (n == 0)
        return FAILURE_DNS;
    for (size_t i = 0; i < n; i++) {
        if (!address_policy_allows(&attempts->policy, &addresses[i]))
            return FAILURE_BLOCKED;
    }
    return FAILURE_NONE;
}

static void send_to(struct attempts *attempts, struct attempt *attempt,
                    const struct address *addresses, size_t n)
{
    const enum failure failure = check_addresses(attempts, addresses, n);

    if (failure != FAILURE_NONE) {
        end(attempts, attempt, failure);
        return;
    }
    attempt->address = addresses[0];
    attempt->has_address = true;
    transfers_begin(attempts->transfers, attempt);
}

/* The closure of a lookup. */
struct looking {
    struct attempts *attempts;
    struct attempt *attempt;
};

static void on_looked_up(void *closure, const struct address *addresses, size_t n)
{
    const struct looking *looking = closure;
    struct attempt *attempt = looking->attempt;

    attempt->lookup = NULL;
    attempt->dns_us = clock_mono_us() - attempt->begun_us;
    send_to(looking->attempts, attempt, addresses, n);
}

static void look_up(struct attempts *attempts, struct attempt *attempt)
{
    struct looking *looking = ARENA_NEW(&attempt->arena, struct looking);

    *looking = (struct looking){attempts, attempt};
    attempt->lookup =
        dns_lookup_begin(attempts->lookups, arena_cstr(&attempt->arena, attempt->parsed_url.host),
                         on_looked_up, looking);
}

/* False: none of our keys opens the secret. */
static bool sign(const struct attempts *attempts, struct attempt *attempt, struct str sealed_hex)
{
    struct uuid organization, endpoint;
    char secret[ENDPOINT_SECRET_TEXT];

    if (!uuid_parse(attempt->organization_id, &organization) ||
        !uuid_parse(attempt->endpoint_id, &endpoint) ||
        !secret_open(&attempts->options.webhook->keys, &organization, &endpoint, sealed_hex,
                     secret))
        return false;
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

/* Only the arena is kept from the attempt before. */
static struct attempt *take_slot(struct attempts *attempts, const struct delivery_claim *claim)
{
    struct attempt *attempt = attempts->vacant[--attempts->n_vacant];
    struct arena arena = attempt->arena;

    arena_clear(&arena);
    *attempt = (struct attempt){
        .arena = arena,
        .begun_us = clock_mono_us(),
        .started_ms = clock_us() / 1000,
        .timestamp = clock_us() / 1000000,
        .dns_us = -1,
        .connect_us = -1,
        .tls_us = -1,
        .wait_us = -1,
    };
    attempt->organization_id = arena_str(&attempt->arena, claim->organization_id);
    attempt->endpoint_id = arena_str(&attempt->arena, claim->endpoint_id);
    attempt->id = arena_str(&attempt->arena, claim->id);
    attempt->fence = arena_str(&attempt->arena, claim->fence);
    if (!is_sound(claim))
        return attempt;
    attempt->event_type = arena_str(&attempt->arena, claim->event_type);
    attempt->url = arena_str(&attempt->arena, claim->url);
    return attempt;
}

void attempts_begin(struct attempts *attempts, const struct delivery_claim *claim)
{
    struct attempt *attempt = take_slot(attempts, claim);

    metric_add(attempts->options.metrics->under_way, 1);
    metric_observe(attempts->options.metrics->wait_seconds, claim->waited_us);
    if (!is_sound(claim)) {
        LOG(LOG_ERROR, "malformed event or endpoint: not written by our services",
            log_slice("event_id", claim->event_id), log_slice("endpoint_id", attempt->endpoint_id));
        end(attempts, attempt, FAILURE_INTERNAL);
        return;
    }
    if (claim->data.p == NULL) {
        end(attempts, attempt, FAILURE_EXPIRED);
        return;
    }
    attempt->body = payload_write(&attempt->arena, claim->event_id, attempt->event_type,
                                  claim->created_at, claim->data);
    if (claim->signs && !sign(attempts, attempt, claim->sealed_secret)) {
        LOG(LOG_ERROR, "a secret cannot be decrypted with WEBHOOK_SECRET_KEY",
            log_slice("endpoint_id", attempt->endpoint_id));
        end(attempts, attempt, FAILURE_INTERNAL);
    } else if (webhook_url_read(attempt->url, &attempt->parsed_url) != NULL) {
        end(attempts, attempt, FAILURE_BLOCKED);
    } else if (attempt->parsed_url.is_literal) {
        send_to(attempts, attempt, &attempt->parsed_url.address, 1);
    } else {
        look_up(attempts, attempt);
    }
}

/* libcurl limits the time of transfers; this limits that of lookups. */
static void end_late_lookups(struct attempts *attempts)
{
    for (int i = 0; i < attempts->options.slots; i++) {
        struct attempt *attempt = &attempts->all[i];

        if (attempt->lookup == NULL || attempt_left_ms(attempt) > 0)
            continue;
        dns_lookup_abandon(attempt->lookup);
        attempt->lookup = NULL;
        attempt->dns_us = clock_mono_us() - attempt->begun_us;
        end(attempts, attempt, FAILURE_DNS);
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
        attempts->vacant[attempts->n_vacant++] = attempts->ended[i];
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

        if (attempt->fence.p != NULL && !attempt->has_ended)
            array_add_plain(&out, attempt->fence);
    }
    return array_close(&out);
}

void attempts_wait(struct attempts *attempts, struct pollfd *fds, size_t n, int timeout_ms)
{
    struct pollfd all[ATTEMPTS_FDS_MAX + DNS_LOOKUP_FDS_MAX];
    size_t n_lookups;

    must(n <= ATTEMPTS_FDS_MAX);
    memcpy(all, fds, n * sizeof(*fds));
    n_lookups = dns_lookups_fds(attempts->lookups, all + n);
    transfers_wait(attempts->transfers, all, n + n_lookups,
                   dns_lookups_timeout_ms(attempts->lookups, timeout_ms));
    memcpy(fds, all, n * sizeof(*fds));
    if (clock_mono_us() >= attempts->refresh_due_us) {
        address_policy_refresh(&attempts->policy);
        attempts->refresh_due_us = clock_mono_us() + REFRESH_US;
    }
    dns_lookups_process(attempts->lookups, all + n, n_lookups);
    transfers_step(attempts->transfers);
    end_late_lookups(attempts);
}

void attempts_wake(struct attempts *attempts)
{
    transfers_wake(attempts->transfers);
}

static void *zeroed(size_t n, size_t size)
{
    void *p = calloc(n, size);

    must(p != NULL);
    return p;
}

struct attempts *attempts_new(const struct attempts_options *options)
{
    struct attempts *attempts = zeroed(1, sizeof(*attempts));
    const size_t n = (size_t)options->slots;

    attempts->options = *options;
    arena_init(&attempts->scratch, ARENA_MAX);
    attempts->policy.allowed = &options->webhook->allowed;
    attempts->all = zeroed(n, sizeof(*attempts->all));
    attempts->vacant = zeroed(n, sizeof(struct attempt *));
    attempts->ended = zeroed(n, sizeof(struct attempt *));
    for (size_t i = 0; i < n; i++) {
        arena_init(&attempts->all[i].arena, ARENA_MAX);
        attempts->vacant[attempts->n_vacant++] = &attempts->all[i];
    }
    attempts->lookups = dns_lookups_new(options->dns_servers);
    attempts->transfers = transfers_new(&(struct transfers_options){
        .ca_file = options->ca_file,
        .on_end = on_end,
        .closure = attempts,
    });
    if (attempts->lookups != NULL && attempts->transfers != NULL)
        return attempts;
    attempts_free(attempts);
    return NULL;
}

static void abandon(struct attempts *attempts, struct attempt *attempt)
{
    if (attempt->lookup != NULL)
        dns_lookup_abandon(attempt->lookup);
    if (attempt->transfer != NULL)
        transfers_release(attempts->transfers, attempt);
}

void attempts_free(struct attempts *attempts)
{
    if (attempts == NULL)
        return;
    for (int i = 0; i < attempts->options.slots; i++)
        abandon(attempts, &attempts->all[i]);
    dns_lookups_free(attempts->lookups);
    transfers_free(attempts->transfers);
    for (int i = 0; i < attempts->options.slots; i++)
        arena_release(&attempts->all[i].arena);
    arena_release(&attempts->scratch);
    free(attempts->all);
    free(attempts->vacant);
    free(attempts->ended);
    free(attempts);
}
