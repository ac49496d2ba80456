/*
 * attempts - those that are under way, each in its slot, and how they get on.
 *
 * What     A claim becomes an attempt: body and signature are made once, the URL is checked again,
 *          its name is looked up, every address of it is checked, and off it goes to the first one
 *          (dns_lookup.h, address_policy.h, transfer.h). Nothing here waits for a receiver or a name
 *          server.
 * Owns     attempts_new() gives what attempts_free() takes back.
 * Threads  The sender's, apart from attempts_wake().
 * Fails    NULL (logged): an option is unusable. Attempts themselves always end.
 */
#ifndef SERVICES_WEBHOOK_ATTEMPTS_H
#define SERVICES_WEBHOOK_ATTEMPTS_H

#include <poll.h>

#include "services/webhook/attempt.h"
#include "services/webhook/queue.h"
#include "services/webhook/sender_metrics.h"
#include "services/webhook/webhook.h"

#define ATTEMPTS_FDS_MAX 4

struct attempts;

struct attempts_options {
    const char *dns_servers, *ca_file; /* NULL = the system's */
    int slots;
    const struct webhook *webhook;
    struct sender_metrics *metrics;
};

struct attempts *attempts_new(const struct attempts_options *options);
void attempts_free(struct attempts *attempts);

/* Takes a vacant slot; there must be one. */
void attempts_begin(struct attempts *attempts, const struct delivery_claim *claim);
size_t attempts_vacant(const struct attempts *attempts);

/* Sleeps until something is to be done, or one of `fds` is ready, or the time is over; does it. */
void attempts_wait(struct attempts *attempts, struct pollfd *fds, size_t n, int timeout_ms);
void attempts_wake(struct attempts *attempts); /* from any thread */

/* The fences of those under way, as PostgreSQL writes an array; good until the next call. */
struct str attempts_fences(struct attempts *attempts);

/* Those that wait to be completed, in the order of their ends; and when the first `n` are, their
   slots become vacant. Until then they do not change, whatever thread looks at them. */
struct attempt *const *attempts_ended(const struct attempts *attempts, size_t *n);
void attempts_forget_ended(struct attempts *attempts, size_t n);

#endif
