/*
 * paginate - a call in several steps: each reply says where the next one continues.
 *
 * What     The `position` of a reply is, unchanged, the body of the next request; the last reply
 *          has none. Printed is either the last reply, or the entries of every reply, one per line.
 *          If standard error is a terminal, it shows the progress.
 *          If the replies are pages of a list, the next page is requested with the last id, until a
 *          page is empty or the requested number of items has arrived; all are printed as one
 *          array.
 * Threads  One thread.
 * Fails    ST_REFUSED, with `failure` filled; its message says where to continue, as in the
 *          position. Lines printed so far are valid; in place of a last reply, the latest one is
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
