/*
 * client_address - the client's address, as seen behind trusted proxies, and whether it came by
 * HTTPS.
 *
 * What     What a proxy says counts only when the proxy is trusted. X-Forwarded-For is walked from
 *          the right: each hop that is trusted vouches for the one before it. The walk ends at the
 *          first address that is not trusted, at something that is no address (the trusted hop
 *          before it is then the best that is known), or after CLIENT_HOPS_MAX hops.
 * Threads  Any; pure.
 */
#ifndef COMMON_HTTP_CLIENT_ADDRESS_H
#define COMMON_HTTP_CLIENT_ADDRESS_H

#include "common/base/ip.h"

#define CLIENT_HOPS_MAX 32

/* `forwarded_for`: the header's lines in the order of the request. */
struct address client_address(const struct address *peer, const struct networks *trusted,
                              const struct str *forwarded_for, size_t n);

/* `own_tls`: our own listener terminated TLS. `forwarded_proto`: the last line of the header, of
   which the last element counts, or STR_NONE. */
bool client_is_https(bool own_tls, const struct address *peer, const struct networks *trusted,
                     struct str forwarded_proto);

#endif
