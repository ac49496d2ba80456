/*
 * roll_call - which processes of the services are alive, asked by NATS's service discovery.
 *
 * Threads  One thread.
 * Fails    As talk.h.
 */
#ifndef SERVICES_CONVCTL_ROLL_CALL_H
#define SERVICES_CONVCTL_ROLL_CALL_H

#include "services/convctl/talk.h"

#define ROLL_CALL "$SRV.STATS"

/* An array of our services, {name, instance, id, version, started, requests, errors}, by name and
   instance. */
MUST_CHECK enum status roll_call(const struct talk_request *request, struct arena *arena,
                                 struct str *answer, struct failure *failure);

#endif
