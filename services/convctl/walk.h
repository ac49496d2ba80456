/*
 * walk - a call that takes many steps: each answer says where the next one goes on.
 *
 * What     The `position` of an answer is the body of the next request, as it is; the last answer
 *          has none. Either the last answer is printed, or the entries of every answer, one on a
 *          line. On a terminal, standard error shows how far it has come.
 *          Where answers are pages of a list, the next one is asked for with the last id, until
 *          one is empty or as many have come as were asked for; all are printed as one array.
 * Threads  One thread.
 * Fails    ST_REFUSED, with `failure` filled. Lines that were printed are good: its message says
 *          where to go on.
 */
#ifndef SERVICES_CONVCTL_WALK_H
#define SERVICES_CONVCTL_WALK_H

#include "common/wire/json.h"

#include "services/convctl/call.h"
#include "services/convctl/talk.h"

/* `body` may be NULL. The texts of *failure live in the arena. */
MUST_CHECK enum status walk(const struct talk_request *request, json_t *body, enum call_kind kind,
                            struct arena *arena, struct failure *failure);

#endif
