/*
 * paginate - a call that takes many steps: each reply says where the next one goes on.
 *
 * What     The `position` of an answer is the body of the next request, as it is; the last answer
 *          has none. Either the last answer is printed, or the entries of every answer, one on a
 *          line. On a terminal, standard error shows how far it has come.
 *          Where answers are pages of a list, the next one is asked for with the last id, until
 *          one is empty or as many have come as were asked for; all are printed as one array.
 * Threads  One thread.
 * Fails    ST_REFUSED, with `failure` filled; its message says where to go on, as given in the
 *          position. Lines that were printed are good; instead of a last answer the latest one is
 *          printed, with `complete` false.
 */
#ifndef SERVICES_CONVCTL_PAGINATE_H
#define SERVICES_CONVCTL_PAGINATE_H

#include "common/json/json.h"

#include "services/convctl/bus_client.h"
#include "services/convctl/convctl_call.h"

/* `body` may be NULL. The texts of *failure live in the arena. */
MUST_CHECK enum status paginate(const struct bus_client_request *request, json_t *body,
                                enum convctl_kind kind, struct arena *arena,
                                struct convctl_failure *failure);

#endif
