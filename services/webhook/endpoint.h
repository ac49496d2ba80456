/*
 * event_type - the events that an endpoint can ask for.
 *
 * Threads  Any; constant tables.
 */
#ifndef SERVICES_WEBHOOK_ENDPOINT_H
#define SERVICES_WEBHOOK_ENDPOINT_H

#include <stdbool.h>

#include "common/base/str.h"

#define EVENT_TYPE_NAMES "conversation.created, ticket.created, ticket.resolved or ai.handoff"

enum event_type {
    EVENT_CONVERSATION_CREATED,
    EVENT_TICKET_CREATED,
    EVENT_TICKET_RESOLVED,
    EVENT_AI_HANDOFF,
    EVENT_TYPES
};

bool event_type_of(struct str name, enum event_type *out); /* false leaves *out untouched */

#endif
