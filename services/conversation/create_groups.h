/*
 * create_groups - which requests to create can share one statement.
 *
 * What     The requests of one statement do not see each other's effects, so none of them may
 *          depend on another: no two have the same external id, and no two write the same contact,
 *          email or phone. Two for one contact go together if they bring the same profile.
 * Threads  Any; pure.
 */
#ifndef SERVICES_CONVERSATION_CREATE_GROUPS_H
#define SERVICES_CONVERSATION_CREATE_GROUPS_H

#include "services/conversation/body.h"

struct create_request {
    struct str organization_id;
    struct create_body body;
    struct str attributes; /* a JSON object that has custom_attributes; STR_NONE: none */
    struct str contact_id; /* from.id, if it can be anybody's */
    struct str new_conversation_id, new_contact_id, new_event_id;
    /* Where its row is to be found. */
    size_t result, row;
};

/* How many of `requests`, from the first on, can share a statement; at least 1. Gives those that
   name the same contact the same new id for it. */
size_t create_group(struct create_request *const *requests, size_t n);

#endif
