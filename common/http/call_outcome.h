/*
 * call_outcome - what a call tells the request that it was made for.
 *
 * Owns     Nothing; the body points into the message.
 * Threads  Any; pure.
 */
#ifndef COMMON_HTTP_CALL_OUTCOME_H
#define COMMON_HTTP_CALL_OUTCOME_H

#include "common/http/calls.h"
#include "proto/outcome.h"

/* How the command ended. OUTCOME_UNCERTAIN where it may have been carried out and nobody says how.
   *body is what the service answered, or STR_NONE where the words are to be our own. */
enum outcome call_outcome(enum call_end end, struct bus_message *message, struct str *body);

#endif
