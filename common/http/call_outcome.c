#include "common/http/call_outcome.h"

#include "proto/headers.h"

enum outcome call_outcome(enum call_end end, struct bus_message *message, struct str *body)
{
    enum outcome outcome = OUTCOME_UNCERTAIN;

    *body = STR_NONE;
    if (end == CALL_NOBODY)
        return OUTCOME_UNAVAILABLE;
    if (end != CALL_REPLIED || !outcome_of(bus_message_header(message, HEADER_OUTCOME), &outcome))
        return OUTCOME_UNCERTAIN;
    /* An older service, in the middle of an upgrade: it did nothing. */
    if (outcome == OUTCOME_UNKNOWN_COMMAND)
        return OUTCOME_UNAVAILABLE;
    *body = bus_message_body(message);
    /* A success without its resource cannot be trusted. */
    return outcome_code(outcome) == NULL && body->n == 0 ? OUTCOME_UNCERTAIN : outcome;
}
