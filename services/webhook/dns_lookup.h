/*
 * dns_lookup - asynchronous lookups of a name's addresses. The only user of c-ares.
 *
 * What     DNS only: no hosts file, no search domains, no cache of ours. Lookups are independent: a
 *          slow one delays no other.
 * Owns     dns_lookups_free() frees what dns_lookups_new() returns. A lookup is freed after its
 *          callback; an abandoned one calls no callback.
 * Threads  The sender's.
 * Fails    Zero addresses: the name has none, or no server answered in time.
 */
#ifndef SERVICES_WEBHOOK_DNS_LOOKUP_H
#define SERVICES_WEBHOOK_DNS_LOOKUP_H

#include <poll.h>

#include "common/base/ip.h"

#define DNS_LOOKUP_ADDRESSES_MAX 32
#define DNS_LOOKUP_FDS_MAX       16

struct dns_lookups;
struct dns_lookup;

/* All addresses of the name, the best to use first. Called only by dns_lookups_process(). More than
   DNS_LOOKUP_ADDRESSES_MAX count as none. */
typedef void (*dns_lookup_fn)(void *closure, const struct address *addresses, size_t n);

/* `servers`: "address[:port],..."; NULL = the system's. Returns NULL (logged) if it is invalid. */
struct dns_lookups *dns_lookups_new(const char *servers);
void dns_lookups_free(struct dns_lookups *lookups); /* calls no callback */

struct dns_lookup *dns_lookup_begin(struct dns_lookups *lookups, const char *name,
                                    dns_lookup_fn on_done, void *closure);
void dns_lookup_abandon(struct dns_lookup *lookup);

/* For the caller's loop: what to poll, for how long at most, and what to call then. */
size_t dns_lookups_fds(struct dns_lookups *lookups, struct pollfd fds[DNS_LOOKUP_FDS_MAX]);
int dns_lookups_timeout_ms(struct dns_lookups *lookups, int max_ms);
void dns_lookups_process(struct dns_lookups *lookups, const struct pollfd *fds, size_t n);

#endif
