/*
 * steps - what an attempt does between its beginning and its end.
 *
 * What     The host of the URL is looked up, every address found is checked, one of them is connected
 *          (connect.h) and the request is sent (transfer.h). One address that is not allowed fails
 *          the attempt: such an answer is likely an attack. As long as no byte of the request has been
 *          sent, a failure leads to the next address; a TLS handshake may take half of the time that
 *          is left if there is one. Nothing here blocks on a receiver or a name server.
 * Owns     steps_free() frees what steps_new() returns. Attempts belong to the caller, who calls
 *          steps_give_up() when attempt->due_us has passed.
 * Threads  The sender's, apart from steps_wake().
 * Fails    steps_new(): NULL (logged): an option is unusable.
 */
#ifndef SERVICES_WEBHOOK_STEPS_H
#define SERVICES_WEBHOOK_STEPS_H

#include <poll.h>

#include "services/webhook/attempt.h"

#define STEPS_FDS_MAX 4

struct address_rules;
struct steps;

struct steps_options {
    const char *dns_servers, *ca_file; /* NULL = the system's */
    const struct address_rules *rules;
    void (*on_end)(void *closure, struct attempt *attempt); /* it has_ended */
    void *closure;
};

struct steps *steps_new(const struct steps_options *options);
void steps_free(struct steps *steps);

/* The attempt has its request and its begun_us. May end it at once. */
void steps_begin(struct steps *steps, struct attempt *attempt);
/* Gives up the step that is in progress. */
void steps_give_up(struct steps *steps, struct attempt *attempt);
/* Forgets the attempt, whatever it does; on_end is not called. */
void steps_release(struct steps *steps, struct attempt *attempt);

/* Sleeps until a step or one of `fds` is ready, steps_wake() is called or the timeout expires. */
void steps_wait(struct steps *steps, struct pollfd *fds, size_t n, int timeout_ms);
void steps_wake(struct steps *steps); /* from any thread */
/* Advances all attempts. */
void steps_advance(struct steps *steps);

#endif
