/*
 * bus_client - sends a request over the bus, and returns the part of its reply that is printed.
 *
 * Threads  One thread.
 * Fails    ST_REFUSED, with `failure` filled: a code for programs and a message for users.
 */
#ifndef SERVICES_CONVCTL_BUS_CLIENT_H
#define SERVICES_CONVCTL_BUS_CLIENT_H

#include "common/base/arena.h"
#include "common/base/status.h"
#include "common/base/str.h"
#include "common/bus/bus.h"
#include "common/json/json.h"

struct bus_client_request {
    const char *nats_url;
    const struct bus_settings *bus_settings;
    const char *subject;
    const char *organization; /* NULL = none */
    struct str body;
    bool only_reads; /* changes nothing, so a lost reply does no harm */
};

struct convctl_failure {
    const char *code;
    const char *message;
};

struct bus_client;

/* Connects to the bus as the request says; NULL, with `failure` filled, if that fails. The texts of
   *failure live in the arena. */
struct bus_client *bus_client_open(const struct bus_client_request *request, struct arena *arena,
                                   struct convctl_failure *failure);
void bus_client_close(struct bus_client *client);
/* Sends a request over the open connection, to the cell of its organization. That cell is looked up
   once, so all requests of a connection must be of one organization. *answer and the texts of
   *failure live in the arena. */
MUST_CHECK enum status bus_client_send(struct bus_client *client,
                                       const struct bus_client_request *request,
                                       struct arena *arena, struct str *answer,
                                       struct convctl_failure *failure);

/* Sends one request to all services; `hear` gets the body of each reply, until no more arrive for a
   while. */
MUST_CHECK enum status bus_client_send_to_all(struct bus_client *client, const char *subject,
                                              void (*hear)(void *closure, struct str body),
                                              void *closure, struct convctl_failure *failure);

/* Sends one request over its own connection. */
MUST_CHECK enum status bus_client_send_once(const struct bus_client_request *request,
                                            struct arena *arena, struct str *answer,
                                            struct convctl_failure *failure);

/* Pure: interprets a reply with this outcome and body. */
MUST_CHECK enum status bus_client_classify(struct str outcome, struct str body, struct arena *arena,
                                           struct str *answer, struct convctl_failure *failure);

/* -- the list of services ---------------------------------------------------------------------- */

/* The running processes of the services, by NATS's service discovery. */
#define LIST_SERVICES_SUBJECT BUS_STATS_SUBJECT

/* Inserts the reply of one of our services into the sorted list; ignores any other reply. If the
   sum of figures overflows, it counts as 0. */
void services_hear(json_t *list, struct str reply);

/* An array of our services, {name, instance, cell, id, version, started, requests, errors}, sorted
   by name and instance. */
MUST_CHECK enum status list_services(const struct bus_client_request *request, struct arena *arena,
                                     struct str *answer, struct convctl_failure *failure);

#endif
