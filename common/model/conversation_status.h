/*
 * conversation_status - the statuses of a conversation, and the two states that they belong to.
 *
 * What     Active, waiting and human_takeover are open, the others closed. `closed` is a legacy
 *          status: it may be stored, but nothing becomes it, and clients see it as `resolved`.
 * Threads  Any; pure.
 */
#ifndef COMMON_MODEL_CONVERSATION_STATUS_H
#define COMMON_MODEL_CONVERSATION_STATUS_H

#include <stdbool.h>

#include "common/base/str.h"

/* The statuses that can be set and that clients see; ends with NULL. */
extern const char *const conversation_status_names[];

/* What may be stored: these, and the legacy one. */
#define CONVERSATION_STORED_STATUSES 6
extern const char *const conversation_stored_statuses[CONVERSATION_STORED_STATUSES];

/* "open" and "closed"; ends with NULL. */
extern const char *const conversation_state_names[];

/* A stored status as clients see it. */
struct str conversation_status_shown(struct str stored);
bool conversation_status_is_open(struct str status);
/* "open" or "closed". */
struct str conversation_state(struct str status);

#endif
