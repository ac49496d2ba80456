/*
 * create - the rules of creating a conversation: which commands can share one statement, and what
 * becomes of one, given the rows found.
 *
 * What     The commands of one statement do not see each other's effects, so none of them may
 *          depend on another: no two have the same external id, and no two write the same contact,
 *          email or phone. Two for one contact go together if they bring the same profile.
 *          What becomes of each follows the retry rules of docs/api.md in their order: an erased
 *          customer, an unknown contact, a source id that is taken, a replay, a profile of another
 *          contact. The statement (sql/create_conversations.sql) writes by the same rules; the
 *          rows that it wrote are among those found.
 * Threads  Any; pure.
 */
#ifndef SERVICES_CONVERSATION_CREATE_H
#define SERVICES_CONVERSATION_CREATE_H

#include <stdbool.h>

#include "services/conversation/body.h"

/* -- commands that share a statement ----------------------------------------------------------- */

struct create_command {
    struct str organization_id;
    struct create_body body;
    struct str attributes; /* a JSON object that has custom_attributes; STR_NONE: none */
    struct str contact_id; /* from.id, if it can be a contact's */
    struct str new_conversation_id, new_contact_id, new_event_id;
    /* Where its row is to be found. */
    size_t result, row;
};

/* How many of `creates`, from the first on, can share a statement; at least 1. Gives those that
   name the same contact the same new id for it. */
size_t create_group(struct create_command *const *creates, size_t n);

/* -- what becomes of a command ----------------------------------------------------------------- */

struct create_found {
    bool names_contact_by_id; /* from.id rather than from.external_id */
    bool contact_is_known;    /* the contact that is named is there, and not erased */

    bool exists; /* a conversation has the external id; the next three are about it */
    bool is_deleted;
    bool is_erased;       /* its contact is */
    bool is_same_contact; /* its contact is the one that is named */

    bool email_is_taken, phone_is_taken; /* by another contact */
    bool is_created;
};

enum create_result {
    CREATE_MADE,
    CREATE_REPLAYED,
    CREATE_CUSTOMER_UNAVAILABLE,
    CREATE_CONTACT_UNKNOWN,
    CREATE_EXTERNAL_ID_TAKEN,
    CREATE_PROFILE_TAKEN,
    /* nothing stood in the way and nothing was written: another transaction is faster */
    CREATE_RACED,
};

enum create_result create_decide(const struct create_found *found);

#endif
