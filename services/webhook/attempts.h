/*
 * attempts - all deliveries that this process has claimed, each in a slot.
 *
 * What     A claim becomes an attempt, which occupies a slot until it is completed. Body and
 *          signature are made once, the URL is checked again, and steps.h does the rest. An attempt
 *          passes through: sender (claimed) -> lookup -> connect -> transfer -> sender (ended) ->
 *          queue (completed). Nothing here blocks on a receiver or a name server.
 *          At most ATTEMPTS_AN_ENDPOINT go to an endpoint at a time; further claims wait here, so
 *          that the next attempt need not wait for the next transaction. A claim is given back, as
 *          if it had never been made, when an attempt to its endpoint fails or when it has waited
 *          for `wait_timeout_us`.
 * Owns     attempts_free() frees what attempts_new() returns. A slot reuses the arena of an attempt
 *          for the next one.
 * Threads  The sender's, apart from attempts_wake().
 * Fails    NULL (logged): an option is unusable. Attempts themselves always end.
 */
#ifndef SERVICES_WEBHOOK_ATTEMPTS_H
#define SERVICES_WEBHOOK_ATTEMPTS_H

#include <poll.h>

#include "services/webhook/attempt.h"

#define ATTEMPTS_AN_ENDPOINT 4 /* under way at a time; claim.sql has the same number */

struct delivery_claim; /* queue.h */
struct sender_metrics; /* sender_metrics.h */
struct webhook;        /* webhook.h */
struct attempts;

struct attempts_options {
    const char *dns_servers, *ca_file; /* NULL = the system's */
    int slots;
    int64_t wait_timeout_us; /* how long a claim may wait for attempts before it */
    const struct webhook *webhook;
    struct sender_metrics *metrics;
};

struct attempts *attempts_new(const struct attempts_options *options);
void attempts_free(struct attempts *attempts);

/* Begins an attempt, at once or when others to its endpoint have ended. There must be a vacant
   slot. */
void attempts_take(struct attempts *attempts, const struct delivery_claim *claim);
size_t attempts_vacant(const struct attempts *attempts);

/* The claims given back since the last attempts_forget_given_back(), which the next transaction
   has to release: they are no longer among attempts_fences(). */
size_t attempts_given_back(const struct attempts *attempts);
void attempts_forget_given_back(struct attempts *attempts, size_t n);
/* Gives back all that wait. */
void attempts_give_back(struct attempts *attempts);

/* Sleeps until an attempt or one of `fds` is ready, attempts_wake() is called or the timeout
   expires; then advances the attempts. */
void attempts_wait(struct attempts *attempts, struct pollfd *fds, size_t n, int timeout_ms);
void attempts_wake(struct attempts *attempts); /* from any thread */

/* The fences of attempts under way and waiting, in PostgreSQL's array syntax; valid until the next
   call. */
struct str attempts_fences(struct attempts *attempts);

/* The attempts that wait to be completed, in the order in which they ended. When the first `n` are
   completed, attempts_forget_ended() vacates their slots; until then they do not change, and any
   thread may read them. */
struct attempt *const *attempts_ended(const struct attempts *attempts, size_t *n);
void attempts_forget_ended(struct attempts *attempts, size_t n);

#endif
