/*
 * connect - the connections of attempts, each to the first of several addresses that answers.
 *
 * What     The addresses are tried in their order (RFC 8305): the next one as soon as one fails, and
 *          otherwise after CONNECT_DELAY_MS, or sooner if there are so many that they would not all
 *          have begun in half of the time. Up to CONNECT_SOCKETS_MAX are tried at a time; for
 *          another one, the one that was begun first is given up. The first that is connected is
 *          reported, and the others are closed. If it turns out to be of no use, those that have not
 *          failed are tried again: connects_go_on(). The policy is asked about each address once
 *          more when its socket is opened.
 *          attempt->address is the address that is connected; without one, the address that was
 *          begun last among those that are being tried; without any, the one that failed last.
 * Owns     connects_free() frees what connects_new() returns. The caller owns a socket that is
 *          reported.
 * Threads  The sender's.
 * Fails    on_end: why the last address failed. A caller whose time is up calls connects_release().
 */
#ifndef SERVICES_WEBHOOK_CONNECT_H
#define SERVICES_WEBHOOK_CONNECT_H

#include "services/webhook/attempt.h"

#define CONNECT_DELAY_MS    250 /* RFC 8305, section 5 */
#define CONNECT_SOCKETS_MAX 4   /* of an attempt */

struct address_policy; /* address_policy.h */
struct connects;

struct connects_options {
    const struct address_policy *policy;
    /* Called only by connects_step(). FAILURE_NONE: `fd` is connected to attempt->address. */
    void (*on_end)(void *closure, struct attempt *attempt, int fd, enum failure failure);
    void *closure;
};

struct connects *connects_new(const struct connects_options *options);
void connects_free(struct connects *connects);

/* `n`: 1 to LOOKUP_ADDRESSES_MAX, all of them checked. */
void connects_begin(struct connects *connects, struct attempt *attempt,
                    const struct address *addresses, size_t n);
/* Other addresses than the one that is connected can still be tried. */
bool connects_can_go_on(const struct attempt *attempt);
/* Drops that one and tries the others. */
void connects_go_on(struct connects *connects, struct attempt *attempt);
/* Closes the attempt's sockets and forgets its addresses. It may have none. */
void connects_release(struct attempt *attempt);

/* For the owner's loop: the descriptor to poll for reading, for how long at most, and what to call
   then. The descriptor stays the same. */
int connects_descriptor(const struct connects *connects);
int connects_timeout_ms(const struct connects *connects, int max_ms);
void connects_step(struct connects *connects);

#endif
