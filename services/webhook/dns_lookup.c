#include "services/webhook/dns_lookup.h"

#include <ares.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/arena.h"
#include "common/base/ip.h"
#include "common/base/log.h"

enum { TRY_MS = 1500, TRIES = 2 };

struct dns_lookup {
    struct dns_lookups *lookups;
    struct dns_lookup *next; /* in the list of finished lookups */
    dns_lookup_fn on_done;   /* NULL = abandoned */
    void *closure;
    struct address addresses[DNS_LOOKUP_ADDRESSES_MAX];
    size_t n;
};

struct dns_lookups {
    ares_channel channel;
    struct dns_lookup *done, **done_end; /* finished; their callbacks have not been called yet */
};

static size_t collect(const struct ares_addrinfo *info, struct address *out)
{
    size_t n = 0;

    for (const struct ares_addrinfo_node *one = info->nodes; one != NULL; one = one->ai_next) {
        if (n == DNS_LOOKUP_ADDRESSES_MAX)
            return 0;
        out[n++] = address_of(one->ai_addr);
    }
    return n;
}

/* c-ares may call this at any time, even from within ares_getaddrinfo(). */
static void on_info(void *arg, int status, int timeouts, struct ares_addrinfo *info)
{
    struct dns_lookup *lookup = arg;

    if (status == ARES_SUCCESS && info != NULL)
        lookup->n = collect(info, lookup->addresses);
    if (info != NULL)
        ares_freeaddrinfo(info);
    *lookup->lookups->done_end = lookup;
    lookup->lookups->done_end = &lookup->next;
}

static struct dns_lookup *take_done(struct dns_lookups *lookups)
{
    struct dns_lookup *done = lookups->done;

    lookups->done = NULL;
    lookups->done_end = &lookups->done;
    return done;
}

/* A lookup that a callback begins is left for the next call, even if it has finished. */
static void call_back(struct dns_lookups *lookups)
{
    struct dns_lookup *lookup = take_done(lookups), *next;

    for (; lookup != NULL; lookup = next) {
        next = lookup->next;
        if (lookup->on_done != NULL)
            lookup->on_done(lookup->closure, lookup->addresses, lookup->n);
        free(lookup);
    }
}

struct dns_lookups *dns_lookups_new(const char *servers)
{
    char dns_only[] = "b";
    struct ares_options options = {
        .flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES | ARES_FLAG_STAYOPEN,
        .timeout = TRY_MS,
        .tries = TRIES,
        .lookups = dns_only,
    };
    struct dns_lookups *lookups = calloc(1, sizeof(*lookups));
    int status;

    must(lookups != NULL);
    status = ares_library_init(ARES_LIB_INIT_ALL);
    must(status == ARES_SUCCESS);
    status =
        ares_init_options(&lookups->channel, &options,
                          ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS);
    must(status == ARES_SUCCESS);
    (void)take_done(lookups);
    if (servers != NULL && ares_set_servers_ports_csv(lookups->channel, servers) != ARES_SUCCESS) {
        LOG(LOG_ERROR, "WEBHOOK_DNS_SERVER must be addresses, each with an optional port");
        dns_lookups_free(lookups);
        return NULL;
    }
    return lookups;
}

void dns_lookups_free(struct dns_lookups *lookups)
{
    struct dns_lookup *lookup;

    if (lookups == NULL)
        return;
    ares_destroy(lookups->channel); /* ends all lookups: calls on_info() */
    while ((lookup = lookups->done) != NULL) {
        lookups->done = lookup->next;
        free(lookup);
    }
    ares_library_cleanup();
    free(lookups);
}

struct dns_lookup *dns_lookup_begin(struct dns_lookups *lookups, const char *name,
                                    dns_lookup_fn on_done, void *closure)
{
    const struct ares_addrinfo_hints hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct dns_lookup *lookup = heap_zeroed(1, sizeof(*lookup));

    lookup->lookups = lookups;
    lookup->on_done = on_done;
    lookup->closure = closure;
    ares_getaddrinfo(lookups->channel, name, NULL, &hints, on_info, lookup);
    return lookup;
}

void dns_lookup_abandon(struct dns_lookup *lookup)
{
    lookup->on_done = NULL;
}

size_t dns_lookups_fds(struct dns_lookups *lookups, struct pollfd fds[DNS_LOOKUP_FDS_MAX])
{
    ares_socket_t sockets[ARES_GETSOCK_MAXNUM];
    const unsigned wanted = (unsigned)ares_getsock(lookups->channel, sockets, ARES_GETSOCK_MAXNUM);
    size_t n = 0;

    for (unsigned i = 0; i < ARES_GETSOCK_MAXNUM; i++) {
        /* Instead of ARES_GETSOCK_READABLE() and _WRITABLE(), which shift a 1 into the sign bit. */
        const bool reads = (wanted >> i & 1) != 0,
                   writes = (wanted >> (i + ARES_GETSOCK_MAXNUM) & 1) != 0;

        if (reads || writes)
            fds[n++] = (struct pollfd){
                .fd = sockets[i],
                .events = (short)((reads ? POLLIN : 0) | (writes ? POLLOUT : 0)),
            };
    }
    return n;
}

int dns_lookups_timeout_ms(struct dns_lookups *lookups, int max_ms)
{
    struct timeval max = {.tv_sec = max_ms / 1000, .tv_usec = max_ms % 1000 * 1000L}, left;
    const struct timeval *min = ares_timeout(lookups->channel, &max, &left);

    if (lookups->done != NULL)
        return 0;
    return (int)(min->tv_sec * 1000 + (min->tv_usec + 999) / 1000);
}

void dns_lookups_process(struct dns_lookups *lookups, const struct pollfd *fds, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const short ready = fds[i].revents;

        if (ready != 0)
            ares_process_fd(lookups->channel,
                            ready & (POLLIN | POLLERR | POLLHUP) ? fds[i].fd : ARES_SOCKET_BAD,
                            ready & POLLOUT ? fds[i].fd : ARES_SOCKET_BAD);
    }
    /* Ends or retries lookups whose timeout has passed. */
    ares_process_fd(lookups->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    call_back(lookups);
}
