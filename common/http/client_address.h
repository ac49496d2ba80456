/*
 * client_address - who the client is: the peer, or what trusted proxies report.
 *
 * Threads  Any; both functions are pure.
 */
#ifndef COMMON_HTTP_CLIENT_ADDRESS_H
#define COMMON_HTTP_CLIENT_ADDRESS_H

#include "common/base/ip.h"
#include "common/base/str.h"

#define CLIENT_HOPS_MAX 32

/* What a proxy reports counts only if the proxy is trusted. X-Forwarded-For, `n` lines in the order
   of the request, is read from the right: each trusted hop vouches for the one before it. The walk
   ends at the first address that is not trusted, at something that is not an address (the result is
   then the trusted hop that reported it), or after CLIENT_HOPS_MAX hops. */
struct address client_address(const struct address *peer, const struct networks *trusted,
                              const struct str *forwarded_for, size_t n);

/* `own_tls`: our own listener terminated TLS. `forwarded_proto`: the last line of the header, whose
   last element counts, or STR_NONE. */
bool client_is_https(bool own_tls, const struct address *peer, const struct networks *trusted,
                     struct str forwarded_proto);

#endif
