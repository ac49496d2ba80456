/*
 * lookup - asynchronous lookups of a name's addresses.
 *
 * What     Asks for IPv4 and IPv6 addresses apart: once one half has answered, the other has
 *          LOOKUP_DELAY_MS more, so that a name server that ignores one of the two questions delays
 *          nothing. A question without an answer is asked again, so that a server that returns is
 *          noticed. Lookups are independent: a slow one delays no other.
 * Owns     lookups_free() frees what lookups_new() returns. A lookup is freed after its callback; an
 *          abandoned one calls no callback.
 * Threads  One thread owns the lookups.
 * Fails    Zero addresses: the name has none, or no server answered (dns.h). A caller that has less
 *          time than that takes abandons the lookup.
 */
#ifndef COMMON_NET_LOOKUP_H
#define COMMON_NET_LOOKUP_H

#include "common/net/dns.h"

#define LOOKUP_ADDRESSES_MAX DNS_ADDRESSES_MAX /* of both families; further ones are left out */

/* RFC 8305, section 3, has 50 ms for IPv6 addresses that are late. IPv4 addresses get longer: they
   are needed if IPv6 turns out not to work. */
#define LOOKUP_DELAY_MS    50
#define LOOKUP_DELAY_V4_MS 250

struct lookups;
struct lookup;

/* The addresses in the order in which to try them: the families take turns (RFC 8305, section 4),
   IPv6 first if this machine has a route. Called only by lookups_process(). */
typedef void (*lookup_fn)(void *closure, const struct address *addresses, size_t n);

/* NULL: the servers are invalid. */
struct lookups *lookups_new(const struct dns_options *options);
void lookups_free(struct lookups *lookups); /* calls no callback */

/* `name` may be an address. */
struct lookup *lookup_begin(struct lookups *lookups, const char *name, lookup_fn on_done,
                            void *closure);
void lookup_abandon(struct lookup *lookup);

/* For the owner's loop: the descriptor to poll for reading, for how long at most, and what to call
   then. The descriptor stays the same. */
int lookups_descriptor(const struct lookups *lookups);
int lookups_timeout_ms(const struct lookups *lookups, int max_ms);
void lookups_process(struct lookups *lookups);

#endif
