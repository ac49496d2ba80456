/*
 * bus_hosts - the hosts of NATS_URL, and the addresses of their names. Private to common/bus.
 *
 * What     bus_hosts_renew() reads the URL again and looks its hosts up. It waits until all lookups
 *          have ended, or a short time if it has an address already: one that is late goes on until
 *          the next call. nats.c would look up names with getaddrinfo(), which may block for long.
 * Owns     The lookups and the text of the URL, which has the password.
 * Threads  The dialer's.
 * Fails    With words for the log, and with the addresses that it has, if any.
 */
#ifndef COMMON_BUS_BUS_HOSTS_H
#define COMMON_BUS_BUS_HOSTS_H

#include "common/bus/bus_url.h"
#include "common/net/lookup.h"

enum { BUS_CAUSES = 400 };

struct bus_host {
    const struct bus_server *server;
    struct lookup *lookup; /* NULL: it has ended */
    int64_t until_us;
    size_t n;
    struct address at[LOOKUP_ADDRESSES_MAX];
};

/* Zeros: nothing was read so far. */
struct bus_hosts {
    char *text; /* of the URL that the rest was made of */
    struct bus_url url;
    struct lookups *lookups;
    struct bus_host at[BUS_SERVERS_MAX]; /* as many as the URL has */
};

/* `setting` is the URL as it was at the start. Returns at once if `stop_fd` is readable. */
void bus_hosts_renew(struct bus_hosts *hosts, const char *setting, int stop_fd,
                     char causes[BUS_CAUSES]);
void bus_hosts_release(struct bus_hosts *hosts);

/* Adds why a connection cannot be made; `where` may be empty. */
void bus_causes_add(char causes[BUS_CAUSES], const char *where, const char *why);

#endif
