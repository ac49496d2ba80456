/*
 * list_services - which processes of the services are alive, by NATS's service discovery.
 *
 * Threads  One thread.
 * Fails    As bus_client.h.
 */
#ifndef SERVICES_CONVCTL_LIST_SERVICES_H
#define SERVICES_CONVCTL_LIST_SERVICES_H

#include "services/convctl/bus_client.h"

#define LIST_SERVICES_SUBJECT "$SRV.STATS"

/* An array of our services, {name, instance, id, version, started, requests, errors}, by name and
   instance. */
MUST_CHECK enum status list_services(const struct bus_client_request *request, struct arena *arena,
                                     struct str *answer, struct convctl_failure *failure);

#endif
