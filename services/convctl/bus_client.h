/*
 * bus_client - sends a request over the bus, and returns what to print of its reply.
 *
 * Threads  One thread.
 * Fails    ST_REFUSED, with `failure` filled: what went wrong, for people and for programs.
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
    const struct bus_tls *bus_tls;
    const char *subject;
    const char *organization; /* NULL = none */
    struct str body;
    bool only_reads; /* without an answer there is nothing to worry about */
};

struct convctl_failure {
    const char *code;
    const char *message;
};

struct bus_client;

/* Waits for the link that the request names; NULL, with `failure` filled, when there is none. */
struct bus_client *bus_client_open(const struct bus_client_request *request,
                                   struct convctl_failure *failure);
void bus_client_close(struct bus_client *client);
/* One request over an open link, to the cell of its organization, which it asks for once: all requests of a
   link are of one organization. *answer and the texts of *failure live in the arena. */
MUST_CHECK enum status bus_client_send(struct bus_client *client,
                                       const struct bus_client_request *request,
                                       struct arena *arena, struct str *answer,
                                       struct convctl_failure *failure);

/* One request to all; `hear` gets each reply's body until no more have come for a while. */
MUST_CHECK enum status bus_client_send_to_all(struct bus_client *client, const char *subject,
                                              void (*hear)(void *closure, struct str body),
                                              void *closure, struct convctl_failure *failure);

/* One request, with a separate link. */
MUST_CHECK enum status bus_client_send_once(const struct bus_client_request *request,
                                            struct arena *arena, struct str *answer,
                                            struct convctl_failure *failure);

/* The pure half: what an answer with this outcome and this body means. */
MUST_CHECK enum status bus_client_classify(struct str outcome, struct str body, struct arena *arena,
                                           struct str *answer, struct convctl_failure *failure);

/* -- the list of services ---------------------------------------------------------------------- */

/* Which processes of the services are alive, by NATS's service discovery. */
#define LIST_SERVICES_SUBJECT BUS_STATS_SUBJECT

/* Puts what a reply says of a service of ours into the list, in its place; anything else is left out.
   Figures that are too large together count as 0. */
void services_hear(json_t *list, struct str reply);

/* An array of our services, {name, instance, cell, id, version, started, requests, errors}, by name and
   instance. */
MUST_CHECK enum status list_services(const struct bus_client_request *request, struct arena *arena,
                                     struct str *answer, struct convctl_failure *failure);

#endif
