/*
 * sender - delivers events to endpoints, on a thread beside the actors.
 *
 * What     Begins a transaction (queue.h) when there is something to complete, when a notice
 *          arrives, and at least once a second. Meanwhile it drives lookups and transfers
 *          (attempts.h). It never blocks on a receiver, a name server or the database.
 * Owns     sender_stop() frees what sender_start() returns.
 * Threads  Its own; sender_is_ready() from any.
 * Fails    NULL (logged): an option is unusable.
 */
#ifndef SERVICES_WEBHOOK_SENDER_H
#define SERVICES_WEBHOOK_SENDER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/metrics.h"
#include "services/webhook/queue.h"
#include "services/webhook/webhook.h"

#define SENDER_SLOTS_MAX 1024

struct sender_options {
    const char *name, *bus_url, *database_url;
    const char *cell; /* whose notices it receives; NULL: main */
    const struct bus_settings *bus_settings;
    const char *dns_servers, *ca_file; /* NULL = the system's */
    int slots;                         /* deliveries claimed at a time */
    int claim_ms;                      /* a claim that is not renewed for this long expires */
    int budget;                        /* deliveries per organization and minute */
    const struct webhook *webhook;
};

struct sender;

struct sender *sender_start(const struct sender_options *options);
bool sender_is_ready(struct sender *sender, char reason[128]);
/* Stops claiming, gives back what waits, lets attempts under way end and completes them; takes at
   most 10 seconds. */
void sender_stop(struct sender *sender);

#endif
