/*
 * status - which way a conversation's status may go.
 *
 * What     Any open status to any other open one and to `resolved`; `resolved` to `archived` or
 *          `active`; `archived` to `resolved`. The legacy `closed` counts as `resolved`.
 * Threads  Any; pure.
 */
#ifndef SERVICES_CONVERSATION_STATUS_H
#define SERVICES_CONVERSATION_STATUS_H

#include <stdbool.h>

#include "common/base/arena.h"
#include "common/base/str.h"

bool conversation_status_may_become(struct str from, struct str to);
/* They read as the same status. */
bool conversation_status_is_same(struct str a, struct str b);
/* Every status, the legacy one included, that may become `to`, as the text of an array:
   {active,waiting}. */
struct str conversation_status_sources(struct arena *arena, struct str to);

#endif
