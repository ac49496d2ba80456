/*
 * bus_url - reads NATS_URL.
 *
 * What     One or more URLs, separated by commas or blanks:
 *
 *              nats://[USER[:PASSWORD]@]HOST[:PORT][/]
 *
 *          tls:// turns TLS on; without a user, the scheme may be left out.
 *          User and password are percent-encoded, as in every URL. What could be meant in two ways
 *          is refused: `@`, `:`, `/`, `?` and `#` in them, and a `%` that encodes nothing. A user
 *          without a password is a token. HOST is a name, an IPv4 address or an IPv6 address in
 *          brackets; PORT is 4222 if it is not given.
 * Owns     bus_url_release() overwrites and frees what bus_url_read() has allocated.
 * Threads  Any.
 * Fails    bus_url_read() says what to change, without repeating any of the text.
 */
#ifndef COMMON_BUS_BUS_URL_H
#define COMMON_BUS_BUS_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BUS_SERVERS_MAX = 16, BUS_URL_WHY = 160 };

struct bus_server {
    const char *user, *password; /* decoded; NULL: not given */
    const char *host;            /* an IPv6 address is without its brackets */
    uint16_t port;
    bool tls; /* the scheme is tls, of this server or of another one in the text */
};

struct bus_url {
    char *text; /* what the servers refer to */
    size_t size, n;
    struct bus_server at[BUS_SERVERS_MAX];
};

/* False: `why` has a sentence, and there is nothing to release. */
bool bus_url_read(const char *text, struct bus_url *out, char why[BUS_URL_WHY]);
void bus_url_release(struct bus_url *url);

#endif
