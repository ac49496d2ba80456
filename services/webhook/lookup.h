/*
 * lookup - the addresses of a name, without ever waiting for them. The only user of c-ares.
 *
 * What     DNS alone: no hosts file, no search domains, no cache of ours. Every look-up is
 *          independent of the others; one that takes long delays nobody else.
 * Owns     lookups_new() gives what lookups_free() takes back. A look-up is gone when its callback
 *          has been called; one that is abandoned calls nobody.
 * Threads  The sender's.
 * Fails    Zero addresses: the name has none, or no server told in time.
 */
#ifndef SERVICES_WEBHOOK_LOOKUP_H
#define SERVICES_WEBHOOK_LOOKUP_H

#include <poll.h>

#include "common/base/address.h"

#define LOOKUP_ADDRESSES_MOST 32
#define LOOKUP_FDS_MOST       16

struct lookups;
struct lookup;

/* All addresses of the name, those first that are best to be used. May be called before
   lookup_begin() returns. `n` beyond LOOKUP_ADDRESSES_MOST counts as none. */
typedef void (*lookup_fn)(void *closure, const struct address *addresses, size_t n);

/* `servers` as "address[:port],..."; NULL = the system's. NULL (logged): they cannot be used. */
struct lookups *lookups_new(const char *servers);
void lookups_free(struct lookups *lookups);

/* NULL when the callback has been called already. */
struct lookup *lookup_begin(struct lookups *lookups, const char *name, lookup_fn on_done,
                            void *closure);
void lookup_abandon(struct lookup *lookup);

/* What to poll; how long at most; and what to do then. */
size_t lookups_fds(struct lookups *lookups, struct pollfd fds[LOOKUP_FDS_MOST]);
int lookups_timeout_ms(struct lookups *lookups, int most_ms);
void lookups_process(struct lookups *lookups, const struct pollfd *fds, size_t n);

#endif
