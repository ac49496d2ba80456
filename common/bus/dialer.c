#include "common/bus/dialer.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/watchdog.h"
#include "common/bus/bus_hosts.h"

enum {
    WAIT_MS = 100,      /* between rounds, and */
    JITTER_MS = 100,    /* at random up to so much longer: not all programs ask at the same time */
    ADDRESSES_MAX = 64, /* tried in a round, as many of each server */
    ROUND_MS = 5000,    /* of attempts; then the files are read and the names are looked up again */
    SAME_US = 10 * 1000 * 1000,
    OTHER_US = 1000 * 1000,
    HANDSHAKE_US = 120 * 1000 * 1000, /* as long as nats-server's lame duck mode lasts */
    BRIEF_US = 1000 * 1000, /* the life of a connection after which the next is dialed at once */
};

struct candidate {
    const struct bus_server *server;
    char where[BUS_WHERE]; /* as in a URL */
};

struct dial {
    struct bus_dialer *dialer;
    struct bus_hosts hosts;
    enum bus_trouble trouble; /* of this round */
    char causes[BUS_CAUSES], logged[BUS_CAUSES];
    int64_t logged_us;
};

/* -- attempts ---------------------------------------------------------------------------------- */

static void describe(struct candidate *to, const struct bus_server *server,
                     const struct address *address)
{
    char text[ADDRESS_TEXT];

    to->server = server;
    address_format(address, text);
    (void)snprintf(to->where, sizeof(to->where), strchr(text, ':') != NULL ? "[%s]:%u" : "%s:%u",
                   text, server->port);
}

/* At random, so that the servers of a cluster get equal shares; but first the address to which the
   last connection led, so that silent ones delay only the first. */
static size_t order(struct dial *dial, struct candidate out[ADDRESSES_MAX])
{
    const struct bus_hosts *hosts = &dial->hosts;
    size_t n = 0;

    for (const struct bus_host *host = hosts->at; host < hosts->at + hosts->url.n; host++)
        for (size_t i = 0; i < host->n && i < ADDRESSES_MAX / hosts->url.n; i++)
            describe(&out[n++], host->server, &host->at[i]);
    for (size_t i = 0; i < n; i++) {
        const size_t other = i + arc4random_uniform((uint32_t)(n - i));
        const struct candidate chosen = out[other];

        out[other] = out[i];
        out[i] = chosen;
        if (strcmp(chosen.where, dial->dialer->last_where) == 0) {
            out[i] = out[0];
            out[0] = chosen;
        }
    }
    return n;
}

static void note_failure(struct dial *dial, const struct candidate *to, natsStatus s, bool was_slow)
{
    char text[96];

    if (s == NATS_CONNECTION_AUTH_FAILED) {
        dial->trouble = BUS_DENIED;
        bus_causes_add(dial->causes, to->where, bus_refusal(dial->dialer->options));
    } else if (s == NATS_MAX_PAYLOAD) {
        dial->trouble = BUS_SMALL;
        (void)snprintf(text, sizeof(text),
                       "max_payload of the bus is %lld, must be at least %d (max_payload: 8MB)",
                       (long long)dial->dialer->to->payload_max, BUS_PAYLOAD_MIN);
        bus_causes_add(dial->causes, to->where, text);
    } else if (s == NATS_SSL_ERROR && !bus_wants_tls(dial->dialer->options, to->server)) {
        /* nats.c tries by itself, and expects an address in the certificate. */
        bus_causes_add(dial->causes, to->where,
                       "the server requires TLS: write tls:// in NATS_URL");
    } else if (s == NATS_NO_SERVER) {
        bus_causes_add(dial->causes, to->where,
                       was_slow ? "no answer in time" : "connection refused");
    } else {
        bus_causes_add(dial->causes, to->where, bus_error_text(s));
    }
}

/* Sets *was_slow if the attempt took its whole time. */
static bool try(struct dial *dial, const struct candidate *to, bool *was_slow)
{
    const int64_t began_us = clock_mono_us();
    struct bus_dialer *const dialer = dial->dialer;
    natsOptions *options = NULL;
    char why[BUS_WHY] = "";
    natsStatus s;

    /* nats.c makes the TLS handshake without a limit: the watchdog sets one, unless requests are
       still served over another link. */
    if (atomic_load(dialer->is_up))
        watchdog_kick_at(began_us + HANDSHAKE_US);
    s = bus_make_options(dialer->options, to->server, to->where, &options, why);
    if (s == NATS_OK)
        s = link_connect(dialer->to, options);
    natsOptions_Destroy(options);
    *was_slow = clock_mono_us() - began_us >= BUS_CONNECT_MS * 900;
    if (why[0] != '\0')
        bus_causes_add(dial->causes, "", why);
    else if (s != NATS_OK)
        note_failure(dial, to, s, *was_slow);
    return s == NATS_OK;
}

static bool is_told_to_stop(const struct bus_dialer *dialer, int timeout_ms)
{
    struct pollfd fd = {.fd = dialer->stop_fd, .events = POLLIN};

    watchdog_kick();
    return poll(&fd, 1, timeout_ms) > 0;
}

/* A silent address costs a second: after the first, the round ends if the last connection led to
   one that is not silent, which then gets its next turn. */
static bool try_all(struct dial *dial)
{
    struct candidate all[ADDRESSES_MAX];
    const size_t n = order(dial, all);
    const int64_t ends_us = clock_mono_us() + ROUND_MS * 1000;
    char *const last = dial->dialer->last_where;
    bool was_slow = false;

    for (size_t i = 0; i < n && clock_mono_us() < ends_us && !is_told_to_stop(dial->dialer, 0);
         i++) {
        const bool is_last = strcmp(all[i].where, last) == 0;

        if (try(dial, &all[i], &was_slow)) {
            (void)snprintf(last, BUS_WHERE, "%s", all[i].where);
            return true;
        }
        if (was_slow && is_last)
            last[0] = '\0';
        else if (was_slow && last[0] != '\0')
            break;
    }
    return false;
}

/* -- rounds ------------------------------------------------------------------------------------ */

/* While another link is in use, nothing is wrong yet. */
static void complain(struct dial *dial)
{
    const bool is_same = strcmp(dial->causes, dial->logged) == 0;
    const int64_t now_us = clock_mono_us();

    if (atomic_load(dial->dialer->is_up) ||
        (dial->logged_us != 0 && now_us < dial->logged_us + (is_same ? SAME_US : OTHER_US)))
        return;
    LOG(LOG_WARNING, "bus is unreachable; retrying", log_str("error", dial->causes));
    memcpy(dial->logged, dial->causes, sizeof(dial->logged));
    dial->logged_us = now_us;
}

static bool try_once(struct dial *dial)
{
    struct bus_dialer *const dialer = dial->dialer;

    dial->trouble = BUS_UNREACHABLE;
    dial->causes[0] = '\0';
    bus_hosts_renew(&dial->hosts, dialer->options->url, dialer->stop_fd, dial->causes);
    if (try_all(dial)) {
        dialer->dialed_us = clock_mono_us();
        atomic_store(&dialer->trouble, BUS_UNREACHABLE); /* once this link is lost */
        atomic_store(&dialer->dialed, dialer->to);
        (void)eventfd_write(dialer->wake_fd, 1);
        return true;
    }
    if (atomic_exchange(&dialer->trouble, dial->trouble) != dial->trouble)
        (void)eventfd_write(dialer->wake_fd, 1);
    complain(dial);
    return false;
}

static int pause_ms(void)
{
    return WAIT_MS + (int)arc4random_uniform(JITTER_MS);
}

/* Requests fail until the connection is made, but a server may accept and then close each one. */
static bool may_begin_at_once(const struct bus_dialer *dialer)
{
    return dialer->dialed_us == 0 || clock_mono_us() > dialer->dialed_us + BRIEF_US;
}

static void *run(void *arg)
{
    struct bus_dialer *const dialer = arg;
    struct dial *const dial = heap_zeroed(1, sizeof(*dial));
    int wait_ms = may_begin_at_once(dialer) ? 0 : pause_ms();

    watchdog_begin("bus dialer");
    dial->dialer = dialer;
    while (!is_told_to_stop(dialer, wait_ms) && !try_once(dial))
        wait_ms = pause_ms();
    bus_hosts_release(&dial->hosts);
    free(dial);
    nats_ReleaseThreadMemory();
    watchdog_end();
    return NULL;
}

void dialer_init(struct bus_dialer *dialer, const struct bus_options *options, int wake_fd,
                 const atomic_bool *is_up)
{
    *dialer = (struct bus_dialer){.options = options, .is_up = is_up, .wake_fd = wake_fd};
    dialer->stop_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    must(dialer->stop_fd >= 0);
}

void dialer_start(struct bus_dialer *dialer, struct bus_link *to)
{
    must(to->nats == NULL);
    dialer->to = to;
    /* EAGAIN: the next step tries again. */
    dialer->is_running = pthread_create(&dialer->thread, NULL, run, dialer) == 0;
}

static void end(struct bus_dialer *dialer)
{
    if (dialer->is_running)
        pthread_join(dialer->thread, NULL);
    dialer->is_running = false;
}

struct bus_link *dialer_take(struct bus_dialer *dialer)
{
    if (atomic_load(&dialer->dialed) == NULL)
        return NULL;
    end(dialer);
    return atomic_exchange(&dialer->dialed, NULL);
}

void dialer_stop(struct bus_dialer *dialer)
{
    must(eventfd_write(dialer->stop_fd, 1) == 0);
    end(dialer);
    close(dialer->stop_fd);
}
