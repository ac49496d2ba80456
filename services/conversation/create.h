/*
 * create - the rules of creating a conversation: which commands can share one statement, and the
 *          result of each command, given the row found for it.
 *
 * What     The commands of one statement do not see each other's writes, so no command may depend
 *          on another: no two have the same external id, and no two write the same contact, email
 *          or phone. Two commands for the same contact may share a statement if their profiles are
 *          equal.
 *
 *          The result follows the retry rules of docs/api.md, in this order: the contact is erased,
 *          the contact is unknown, the external id is taken, it is a replay, the email or phone
 *          belongs to another contact. The statement (sql/create_conversations.sql) writes by the
 *          same rules, and its result has one row for each command.
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
    struct str attributes; /* the body, as JSON; STR_NONE: it sets no custom attributes */
    struct str contact_id; /* from.id, if it can be a contact's */
    struct str new_conversation_id, new_contact_id, new_event_id;
    size_t result, row; /* where its row is */
};

/* Returns how many of `creates`, counted from the first, can share a statement; at least 1.
   Commands that name the same contact get the same new_contact_id. */
size_t create_group(struct create_command *const *creates, size_t n);

/* -- the result of a command ------------------------------------------------------------------- */

struct create_found {
    bool names_contact_by_id; /* by from.id, not by from.external_id */
    bool contact_is_known;    /* the named contact exists and is not erased */

    bool exists; /* a conversation has the external id; the next three describe it */
    bool is_deleted;
    bool is_erased;       /* its contact is erased */
    bool is_same_contact; /* its contact is the named one */

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
    CREATE_RACED, /* nothing conflicts, yet nothing was written: it lost a race and is run again */
};

enum create_result create_decide(const struct create_found *found);

#endif
