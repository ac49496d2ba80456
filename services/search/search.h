/*
 * search - the service that finds one contact's conversations. It only reads, apart from writing
 * the audit entry of each search.
 *
 * Threads  struct search is shared by the actors and read-only after start.
 */
#ifndef SERVICES_SEARCH_SEARCH_H
#define SERVICES_SEARCH_SEARCH_H

#include "common/actor/actor.h"
#include "common/crypto/cursor.h"

struct search {
    struct cursor_keys keys;
};

extern const struct command_handler search_conversations;

#endif
