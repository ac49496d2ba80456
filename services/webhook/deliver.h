/*
 * deliver - HTTPS requests on their way out, all of them at once.
 *
 * What     One POST for one attempt (transfer.h), on its own connection: nothing that is kept alive
 *          can fail at a moment that makes it unclear whether the receiver has seen the request.
 * Owns     deliver_new() gives what deliver_free() takes back. Attempts stay the caller's; one that
 *          is under way ends with attempt_end() within its time.
 * Threads  The sender's, apart from deliver_wake().
 * Fails    NULL (logged): the CA bundle cannot be read.
 */
#ifndef SERVICES_WEBHOOK_DELIVER_H
#define SERVICES_WEBHOOK_DELIVER_H

#include <poll.h>

#include "services/webhook/attempt.h"

struct deliver;

struct deliver_options {
    const char *ca_file; /* trusted besides the system's; NULL = none */
    void (*on_end)(void *closure, struct attempt *attempt);
    void *closure;
};

struct deliver *deliver_new(const struct deliver_options *options);
void deliver_free(struct deliver *deliver);

/* attempt->address is where to. */
void deliver_begin(struct deliver *deliver, struct attempt *attempt);
/* Takes the transfer away from the attempt, which may be over or not; on_end is not called. */
void deliver_release(struct deliver *deliver, struct attempt *attempt);
/* Goes on with all of them; tells those that ended. */
void deliver_step(struct deliver *deliver);

/* Sleeps until a transfer or one of `fds` is ready, it is woken, or the time is over. */
void deliver_wait(struct deliver *deliver, struct pollfd *fds, size_t n, int timeout_ms);
void deliver_wake(struct deliver *deliver); /* from any thread */

#endif
