#include "common/net/lookup.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/list.h"
#include "common/base/log.h"

enum {
    /* A server that forwards a question may take long over it, and yet answer the next one at once:
       that of Docker does so for a container that has returned. */
    AGAIN_US = 700 * 1000,
    ASKED_MAX = 4,
};

/* The addresses of one family. */
struct half {
    struct lookup *lookup;
    int family;
    size_t n_asked; /* questions not answered yet */
    bool is_known;  /* answered, or no server has answered any question */
    struct address addresses[LOOKUP_ADDRESSES_MAX];
    size_t n;
};

enum { V4, V6, HALVES };

struct lookup {
    struct lookups *lookups;
    struct list link; /* until it is reported */
    char *name;
    lookup_fn on_done; /* NULL = abandoned */
    void *closure;
    struct half halves[HALVES];
    int n_times;        /* how often it was asked */
    int64_t again_us;   /* clock_mono_us() */
    int64_t delayed_us; /* until when a late half is waited for; 0 = not known yet */
};

struct lookups {
    struct dns *dns;
    struct list list; /* those not reported yet */
};

/* -- asking ------------------------------------------------------------------------------------ */

/* If answers are still to come, the last of them frees it. */
static void free_if_unused(struct lookup *lookup)
{
    if (list_is_linked(&lookup->link) || lookup->halves[V4].n_asked > 0 ||
        lookup->halves[V6].n_asked > 0)
        return;
    free(lookup->name);
    free(lookup);
}

/* A question that failed leaves those after it to answer. */
static void on_answer(void *closure, bool is_answered, const struct address *addresses, size_t n)
{
    struct half *half = closure;

    half->n_asked--;
    if (!half->is_known) {
        memcpy(half->addresses, addresses, n * sizeof(*addresses));
        half->n = n;
        half->is_known = is_answered || half->n_asked == 0;
    }
    free_if_unused(half->lookup);
}

static void ask_for_missing(struct lookup *lookup)
{
    lookup->n_times++;
    lookup->again_us = clock_mono_us() + AGAIN_US;
    for (int i = 0; i < HALVES; i++) {
        struct half *half = &lookup->halves[i];

        if (half->is_known)
            continue;
        half->n_asked++;
        dns_ask(lookup->lookups->dns, lookup->name, half->family, on_answer, half);
    }
}

/* -- the result -------------------------------------------------------------------------------- */

/* Whether this machine has a route there. Sends nothing. */
static bool has_route(const struct address *address)
{
    struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_port = htons(9)};
    const int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool is_routed;

    if (fd < 0)
        return false;
    memcpy(&to.sin6_addr, address->b, sizeof(to.sin6_addr));
    is_routed = connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0;
    close(fd);
    return is_routed;
}

static bool can_use_v6(const struct lookup *lookup)
{
    const struct half *v6 = &lookup->halves[V6];

    return v6->n > 0 && has_route(&v6->addresses[0]);
}

static size_t merge(const struct lookup *lookup, struct address out[LOOKUP_ADDRESSES_MAX])
{
    const bool v6_first = can_use_v6(lookup);
    const struct half *first = &lookup->halves[v6_first ? V6 : V4],
                      *second = &lookup->halves[v6_first ? V4 : V6];
    size_t n = 0;

    for (size_t i = 0; i < LOOKUP_ADDRESSES_MAX; i++) {
        if (i < first->n && n < LOOKUP_ADDRESSES_MAX)
            out[n++] = first->addresses[i];
        if (i < second->n && n < LOOKUP_ADDRESSES_MAX)
            out[n++] = second->addresses[i];
    }
    return n;
}

static bool is_known(const struct lookup *lookup)
{
    return lookup->halves[V4].is_known && lookup->halves[V6].is_known;
}

/* Once one half has addresses, the other is waited for only a while. */
static void begin_delay(struct lookup *lookup)
{
    if (lookup->delayed_us != 0 || is_known(lookup))
        return;
    if (lookup->halves[V4].n > 0)
        lookup->delayed_us = clock_mono_us() + LOOKUP_DELAY_MS * 1000;
    else if (can_use_v6(lookup))
        lookup->delayed_us = clock_mono_us() + LOOKUP_DELAY_V4_MS * 1000;
}

static void report(struct lookup *lookup)
{
    struct address addresses[LOOKUP_ADDRESSES_MAX];
    const size_t n = merge(lookup, addresses);

    if (lookup->on_done != NULL)
        lookup->on_done(lookup->closure, addresses, n);
    list_remove(&lookup->link);
    free_if_unused(lookup);
}

/* May free it. */
static void advance(struct lookup *lookup, int64_t now_us)
{
    begin_delay(lookup);
    if (lookup->on_done == NULL || is_known(lookup) ||
        (lookup->delayed_us != 0 && now_us >= lookup->delayed_us))
        report(lookup);
    else if (now_us >= lookup->again_us && lookup->n_times < ASKED_MAX)
        ask_for_missing(lookup);
}

/* -- lookups ----------------------------------------------------------------------------------- */

struct lookups *lookups_new(const struct dns_options *options)
{
    struct dns *dns = dns_open(options);
    struct lookups *lookups;

    if (dns == NULL)
        return NULL;
    lookups = heap_zeroed(1, sizeof(*lookups));
    lookups->dns = dns;
    list_init(&lookups->list);
    return lookups;
}

void lookups_free(struct lookups *lookups)
{
    struct lookup *lookup;

    if (lookups == NULL)
        return;
    dns_close(lookups->dns);
    LIST_EACH(lookup, &lookups->list, link) {
        list_remove(&lookup->link);
        free_if_unused(lookup);
    }
    free(lookups);
}

/* The name servers need not be asked for an address. */
static void begin_asking(struct lookup *lookup)
{
    struct half *const halves = lookup->halves;

    halves[V4] = (struct half){.lookup = lookup, .family = AF_INET};
    halves[V6] = (struct half){.lookup = lookup, .family = AF_INET6};
    if (address_parse(str_of(lookup->name), &halves[V4].addresses[0])) {
        halves[V4].n = 1;
        halves[V4].is_known = halves[V6].is_known = true;
        return;
    }
    ask_for_missing(lookup);
    begin_delay(lookup);
}

/* Lookups are added at the front, so lookups_process() does not meet those that a callback
   begins. */
struct lookup *lookup_begin(struct lookups *lookups, const char *name, lookup_fn on_done,
                            void *closure)
{
    struct lookup *lookup = heap_zeroed(1, sizeof(*lookup));

    lookup->lookups = lookups;
    lookup->name = strdup(name);
    must(lookup->name != NULL);
    lookup->on_done = on_done;
    lookup->closure = closure;
    list_add_first(&lookups->list, &lookup->link);
    begin_asking(lookup);
    return lookup;
}

void lookup_abandon(struct lookup *lookup)
{
    lookup->on_done = NULL;
}

int lookups_descriptor(const struct lookups *lookups)
{
    return dns_descriptor(lookups->dns);
}

static int timeout_of(const struct lookup *lookup, int timeout_ms, int64_t now_us)
{
    if (lookup->on_done == NULL || is_known(lookup))
        return 0;
    if (lookup->n_times < ASKED_MAX)
        timeout_ms = clock_left_ms(lookup->again_us, now_us, timeout_ms);
    if (lookup->delayed_us != 0)
        timeout_ms = clock_left_ms(lookup->delayed_us, now_us, timeout_ms);
    return timeout_ms;
}

int lookups_timeout_ms(const struct lookups *lookups, int max_ms)
{
    const int64_t now_us = clock_mono_us();
    int timeout_ms = dns_timeout_ms(lookups->dns, max_ms);
    const struct lookup *lookup;

    LIST_EACH(lookup, &lookups->list, link)
        timeout_ms = timeout_of(lookup, timeout_ms, now_us);
    return timeout_ms;
}

void lookups_process(struct lookups *lookups)
{
    struct lookup *lookup;
    int64_t now_us;

    dns_process(lookups->dns);
    now_us = clock_mono_us();
    LIST_EACH(lookup, &lookups->list, link)
        advance(lookup, now_us);
}
