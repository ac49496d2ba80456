#include "common/net/dns.h"

#include <ares.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/arena.h"
#include "common/base/file_watch.h"
#include "common/base/log.h"

enum {
    TRY_MS = 1000, /* for each server; twice that in the second pass */
    TRIES = 2,
    CHANNELS_MAX = 2,
    EVENTS_MAX = 16,
};

#define RESOLV_CONF "/etc/resolv.conf"

/* The servers as they were read once. */
struct channel {
    ares_channel ares;
    struct dns *dns;
    size_t n_asked; /* questions not answered yet */
    struct channel *next;
};

struct question {
    struct channel *channel;
    int family;
    dns_fn on_answer;
    void *closure;
};

struct dns {
    struct dns_options options;
    struct channel *channels; /* the first gets new questions */
    size_t n_channels;
    struct file_watch conf; /* of RESOLV_CONF */
    int epoll;
};

/* -- the servers ------------------------------------------------------------------------------- */

static void watch(void *closure, ares_socket_t fd, int reads, int writes)
{
    const struct channel *channel = closure;
    const int epoll = channel->dns->epoll;
    struct epoll_event event = {.data.fd = fd};

    if (!reads && !writes) {
        (void)epoll_ctl(epoll, EPOLL_CTL_DEL, fd, NULL);
        return;
    }
    event.events = (reads ? EPOLLIN : 0U) | (writes ? EPOLLOUT : 0U);
    /* If the kernel lacks memory for it, the question ends when its time is over. */
    if (epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event) != 0)
        (void)epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

static void channel_free(struct channel *channel)
{
    ares_destroy(channel->ares); /* ends all questions: calls on_info() */
    free(channel);
}

static struct channel *channel_new(struct dns *dns)
{
    struct channel *channel = heap_zeroed(1, sizeof(*channel));
    char dns_only[] = "b", hosts_and_dns[] = "fb";
    const bool is_dns_only = dns->options.dns_only;
    struct ares_options options = {
        .flags = is_dns_only ? ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES : 0,
        .timeout = TRY_MS,
        .tries = TRIES,
        .lookups = is_dns_only ? dns_only : hosts_and_dns,
        .sock_state_cb = watch,
        .sock_state_cb_data = channel,
    };
    const int given = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS |
                      ARES_OPT_SOCK_STATE_CB;

    channel->dns = dns;
    if (ares_init_options(&channel->ares, &options, given) != ARES_SUCCESS) {
        free(channel);
        return NULL;
    }
    if (dns->options.servers == NULL ||
        ares_set_servers_ports_csv(channel->ares, dns->options.servers) == ARES_SUCCESS)
        return channel;
    channel_free(channel);
    return NULL;
}

static bool use_channel(struct dns *dns, struct channel *channel)
{
    if (channel == NULL)
        return false;
    channel->next = dns->channels;
    dns->channels = channel;
    dns->n_channels++;
    return true;
}

static void close_former_channels(struct dns *dns)
{
    struct channel **at = &dns->channels->next;

    while (*at != NULL) {
        struct channel *channel = *at;

        if (channel->n_asked > 0) {
            at = &channel->next;
            continue;
        }
        *at = channel->next;
        channel_free(channel);
        dns->n_channels--;
    }
}

/* If the file cannot be used, the servers read before stay. */
static void refresh(struct dns *dns)
{
    if (dns->options.servers != NULL)
        return;
    close_former_channels(dns);
    if (dns->n_channels == CHANNELS_MAX || file_watch_look(&dns->conf) == FILES_ARE_SAME)
        return;
    /* Without the file, c-ares would ask a server on this machine. */
    if (access(RESOLV_CONF, R_OK) != 0 || !use_channel(dns, channel_new(dns)))
        file_watch_failed(&dns->conf);
}

static void open_library(void)
{
    const int status = ares_library_init(ARES_LIB_INIT_ALL);

    must(status == ARES_SUCCESS);
}

struct dns *dns_open(const struct dns_options *options)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct dns *dns = heap_zeroed(1, sizeof(*dns));

    must(pthread_once(&once, open_library) == 0);
    dns->options = *options;
    dns->epoll = epoll_create1(EPOLL_CLOEXEC);
    dns->conf = file_watch_of(RESOLV_CONF, NULL);
    if (dns->epoll >= 0 && use_channel(dns, channel_new(dns)))
        return dns;
    dns_close(dns);
    return NULL;
}

void dns_close(struct dns *dns)
{
    if (dns == NULL)
        return;
    while (dns->channels != NULL) {
        struct channel *channel = dns->channels;

        dns->channels = channel->next;
        channel_free(channel);
    }
    if (dns->epoll >= 0)
        close(dns->epoll);
    free(dns);
}

/* -- questions --------------------------------------------------------------------------------- */

static size_t collect(const struct ares_addrinfo *info, int family,
                      struct address out[DNS_ADDRESSES_MAX])
{
    size_t n = 0;

    for (const struct ares_addrinfo_node *one = info->nodes; one != NULL && n < DNS_ADDRESSES_MAX;
         one = one->ai_next)
        if (one->ai_family == family)
            out[n++] = address_of(one->ai_addr);
    return n;
}

/* c-ares may call this at any time, even from within ares_getaddrinfo(). */
static void on_info(void *closure, int status, int timeouts, struct ares_addrinfo *info)
{
    struct question *question = closure;
    const bool is_answered =
        status == ARES_SUCCESS || status == ARES_ENOTFOUND || status == ARES_ENODATA;
    struct address addresses[DNS_ADDRESSES_MAX];
    size_t n = 0;

    if (info != NULL) {
        n = collect(info, question->family, addresses);
        ares_freeaddrinfo(info);
    }
    question->channel->n_asked--;
    question->on_answer(question->closure, is_answered, addresses, n);
    free(question);
}

/* As RFC 6761 asks. c-ares 1.18.1 would lose ten bytes whenever /etc/hosts has no such address. */
static void answer_localhost(int family, dns_fn on_answer, void *closure)
{
    struct address loopback;

    must(address_parse(family == AF_INET ? STR("127.0.0.1") : STR("::1"), &loopback));
    on_answer(closure, true, &loopback, 1);
}

void dns_ask(struct dns *dns, const char *name, int family, dns_fn on_answer, void *closure)
{
    const struct ares_addrinfo_hints hints = {.ai_family = family, .ai_socktype = SOCK_STREAM};
    struct question *question;

    if (strcasecmp(name, "localhost") == 0) {
        answer_localhost(family, on_answer, closure);
        return;
    }
    refresh(dns);
    question = heap_zeroed(1, sizeof(*question));
    *question = (struct question){dns->channels, family, on_answer, closure};
    question->channel->n_asked++;
    ares_getaddrinfo(question->channel->ares, name, NULL, &hints, on_info, question);
}

int dns_descriptor(const struct dns *dns)
{
    return dns->epoll;
}

int dns_timeout_ms(const struct dns *dns, int max_ms)
{
    struct timeval max = {.tv_sec = max_ms / 1000, .tv_usec = max_ms % 1000 * 1000L};

    for (const struct channel *channel = dns->channels; channel != NULL; channel = channel->next) {
        struct timeval left;

        max = *ares_timeout(channel->ares, &max, &left);
    }
    return (int)(max.tv_sec * 1000 + (max.tv_usec + 999) / 1000);
}

/* A channel ignores a socket that is not its own. */
void dns_process(struct dns *dns)
{
    struct epoll_event events[EVENTS_MAX];
    const int n = epoll_wait(dns->epoll, events, EVENTS_MAX, 0);

    for (int i = 0; i < n; i++) {
        const uint32_t ready = events[i].events;
        const ares_socket_t fd = events[i].data.fd;

        for (struct channel *channel = dns->channels; channel != NULL; channel = channel->next)
            ares_process_fd(channel->ares, ready & ~(uint32_t)EPOLLOUT ? fd : ARES_SOCKET_BAD,
                            ready & EPOLLOUT ? fd : ARES_SOCKET_BAD);
    }
    /* Ends or repeats questions whose time has passed. */
    for (struct channel *channel = dns->channels; channel != NULL; channel = channel->next)
        ares_process_fd(channel->ares, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}
