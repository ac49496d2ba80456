/*
 * transfers - all outgoing requests of the sender, at the same time.
 *
 * Owns     transfers_free() frees what transfers_new() returns, and the transfer of each attempt
 *          (transfer.h). Attempts belong to the caller.
 * Threads  The sender's, apart from transfers_wake().
 * Fails    transfers_new(): NULL (logged) if the CA bundle cannot be read.
 */
#ifndef SERVICES_WEBHOOK_TRANSFERS_H
#define SERVICES_WEBHOOK_TRANSFERS_H

#include <poll.h>

#include "services/webhook/attempt.h"

struct transfers;

struct transfers_options {
    const char *ca_file; /* trusted besides the system's; NULL = none */
    /* `was_sent` false: no byte of the request was sent. */
    void (*on_end)(void *closure, struct attempt *attempt, enum failure failure, bool was_sent);
    void *closure;
};

struct transfers *transfers_new(const struct transfers_options *options);
void transfers_free(struct transfers *transfers);

/* Takes over `fd`, which is connected to attempt->address. */
void transfers_begin(struct transfers *transfers, struct attempt *attempt, int fd);
/* Ends the attempt's transfer, because attempt->due_us has passed; calls on_end. */
void transfers_give_up(struct transfers *transfers, struct attempt *attempt);
/* Frees the attempt's transfer, if it has one; on_end is not called. */
void transfers_release(struct transfers *transfers, struct attempt *attempt);
/* Advances all transfers; calls on_end for those that ended. */
void transfers_step(struct transfers *transfers);

/* Sleeps until a transfer or one of `fds` is ready, transfers_wake() is called or the timeout
   expires. */
void transfers_wait(struct transfers *transfers, struct pollfd *fds, size_t n, int timeout_ms);
void transfers_wake(struct transfers *transfers); /* from any thread */

#endif
