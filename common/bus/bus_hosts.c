#include "common/bus/bus_hosts.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/config.h"
#include "common/base/watchdog.h"

enum {
    LOOKUP_MS = 2800, /* then a name is asked for again */
    OTHERS_MS = 100,  /* how long a name that is late delays those known */
};

void bus_causes_add(char causes[BUS_CAUSES], const char *where, const char *why)
{
    const size_t n = strlen(causes);

    (void)snprintf(causes + n, BUS_CAUSES - n, "%s%s%s%s", n > 0 ? "; " : "", where,
                   where[0] != '\0' ? ": " : "", why);
}

/* -- the URL --------------------------------------------------------------------------------- */

static void end_lookup(struct bus_host *host)
{
    if (host->lookup != NULL)
        lookup_abandon(host->lookup);
    host->lookup = NULL;
}

static void forget_url(struct bus_hosts *hosts)
{
    for (size_t i = 0; i < hosts->url.n; i++)
        end_lookup(&hosts->at[i]);
    bus_url_release(&hosts->url);
    config_forget(hosts->text);
}

static void renew_url(struct bus_hosts *hosts, const char *setting, char causes[BUS_CAUSES])
{
    char *const text = config_current(setting);
    char why[BUS_URL_WHY];

    if (hosts->text != NULL && strcmp(text, hosts->text) == 0 && hosts->url.n > 0) {
        config_forget(text);
        return;
    }
    forget_url(hosts);
    hosts->text = text;
    if (!bus_url_read(text, &hosts->url, why)) {
        bus_causes_add(causes, "NATS_URL", why);
        return;
    }
    for (size_t i = 0; i < hosts->url.n; i++)
        hosts->at[i] = (struct bus_host){.server = &hosts->url.at[i]};
}

/* -- lookups --------------------------------------------------------------------------------- */

static void on_found(void *closure, const struct address *addresses, size_t n)
{
    struct bus_host *host = closure;

    host->lookup = NULL;
    host->n = n;
    memcpy(host->at, addresses, n * sizeof(*addresses));
}

/* Returns how many lookups are still under way, and counts the hosts with addresses. */
static size_t count(struct bus_hosts *hosts, int64_t now_us, size_t *n_known)
{
    size_t n = 0;

    *n_known = 0;
    for (struct bus_host *host = hosts->at; host < hosts->at + hosts->url.n; host++) {
        if (host->lookup != NULL && now_us >= host->until_us) {
            end_lookup(host);
            host->n = 0;
        }
        n += host->lookup != NULL;
        *n_known += host->n > 0;
    }
    return n;
}

static void wait_for_lookups(struct bus_hosts *hosts, int stop_fd)
{
    struct pollfd fds[] = {{.fd = stop_fd, .events = POLLIN},
                           {.fd = lookups_descriptor(hosts->lookups), .events = POLLIN}};
    const int64_t others_us = clock_mono_us() + OTHERS_MS * 1000;

    for (;;) {
        size_t n_known, n_pending;
        int64_t now_us;

        watchdog_kick();
        lookups_process(hosts->lookups);
        now_us = clock_mono_us();
        n_pending = count(hosts, now_us, &n_known);
        if (n_pending == 0 || (n_known > 0 && now_us >= others_us) || fds[0].revents != 0)
            return;
        (void)poll(fds, 2, lookups_timeout_ms(hosts->lookups, OTHERS_MS / 4));
    }
}

static void look_up(struct bus_hosts *hosts, int stop_fd, char causes[BUS_CAUSES])
{
    const int64_t until_us = clock_mono_us() + LOOKUP_MS * 1000;

    if (hosts->lookups == NULL)
        hosts->lookups = lookups_new(&(struct dns_options){.servers = NULL});
    if (hosts->lookups == NULL) {
        bus_causes_add(causes, "", "the name servers cannot be used");
        return;
    }
    for (struct bus_host *host = hosts->at; host < hosts->at + hosts->url.n; host++) {
        if (host->lookup != NULL)
            continue;
        host->until_us = until_us;
        host->lookup = lookup_begin(hosts->lookups, host->server->host, on_found, host);
    }
    wait_for_lookups(hosts, stop_fd);
    for (const struct bus_host *host = hosts->at; host < hosts->at + hosts->url.n; host++)
        if (host->n == 0)
            bus_causes_add(causes, host->server->host,
                           "the name has no address, or no name server answers");
}

void bus_hosts_renew(struct bus_hosts *hosts, const char *setting, int stop_fd,
                     char causes[BUS_CAUSES])
{
    renew_url(hosts, setting, causes);
    if (hosts->url.n > 0)
        look_up(hosts, stop_fd, causes);
}

void bus_hosts_release(struct bus_hosts *hosts)
{
    forget_url(hosts);
    lookups_free(hosts->lookups);
}
