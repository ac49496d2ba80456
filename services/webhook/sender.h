/*
 * sender - brings events to where they are wanted: a thread beside the actors.
 *
 * What     Transactions (store_thread.h) when there is something to complete, when a notice comes
 *          and once a second (schedule.h); all the time it minds look-ups and transfers
 *          (attempts.h). It never waits for a receiver, a name server or the database.
 * Owns     sender_start() gives what sender_stop() takes back.
 * Threads  Its own; sender_is_ready() from any.
 * Fails    NULL (logged): an option is unusable.
 */
#ifndef SERVICES_WEBHOOK_SENDER_H
#define SERVICES_WEBHOOK_SENDER_H

#include "services/webhook/webhook.h"

#define SENDER_SLOTS_MAX 1024

struct sender_options {
    const char *name, *bus_url, *database_url;
    const struct bus_tls *bus_tls;
    const char *dns_servers, *ca_file; /* NULL = the system's */
    int slots;                         /* deliveries under way at a time */
    int claim_ms; /* until the claims of a process that is not heard of expire */
    int budget;   /* deliveries that an organization is given in a minute */
    const struct webhook *webhook;
};

struct sender;

struct sender *sender_start(const struct sender_options *options);
bool sender_is_ready(struct sender *sender, char reason[128]);
/* Claims no more, lets what is under way end and completes it: 10 seconds at most. */
void sender_stop(struct sender *sender);

#endif
