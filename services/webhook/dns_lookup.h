/*
 * dns_lookup - the addresses of a name, without ever waiting for them. The only user of c-ares.
 *
 * What     DNS alone: no hosts file, no search domains, no cache of ours. Every look-up is
 *          independent of the others; a slow one delays no other.
 * Owns     dns_lookups_new() gives what dns_lookups_free() takes back. A look-up is gone when its
 *          callback has been called; an abandoned one calls no callback.
 * Threads  The sender's.
 * Fails    Zero addresses: the name has none, or no server told in time.
 */
#ifndef SERVICES_WEBHOOK_DNS_LOOKUP_H
#define SERVICES_WEBHOOK_DNS_LOOKUP_H

#include <poll.h>

#include "common/base/ip.h"

#define DNS_LOOKUP_ADDRESSES_MAX 32
#define DNS_LOOKUP_FDS_MAX       16

struct dns_lookups;
struct dns_lookup;

/* All addresses of the name, those first that are best to be used; called by dns_lookups_process()
   alone. More than DNS_LOOKUP_ADDRESSES_MAX count as none. */
typedef void (*dns_lookup_fn)(void *closure, const struct address *addresses, size_t n);

/* `servers` as "address[:port],..."; NULL = the system's. NULL (logged): they cannot be used. */
struct dns_lookups *dns_lookups_new(const char *servers);
void dns_lookups_free(struct dns_lookups *lookups); /* calls no callback */

struct dns_lookup *dns_lookup_begin(struct dns_lookups *lookups, const char *name,
                                    dns_lookup_fn on_done, void *closure);
void dns_lookup_abandon(struct dns_lookup *lookup);

/* What to poll; how long at most; and what to do then. */
size_t dns_lookups_fds(struct dns_lookups *lookups, struct pollfd fds[DNS_LOOKUP_FDS_MAX]);
int dns_lookups_timeout_ms(struct dns_lookups *lookups, int max_ms);
void dns_lookups_process(struct dns_lookups *lookups, const struct pollfd *fds, size_t n);

#endif
