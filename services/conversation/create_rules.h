/*
 * create_rules - what becomes of a request to create a conversation, given what was found.
 *
 * What     The retry rules of contract 4.2 in their order: an erased customer, an unknown contact,
 *          a source id that is taken, a replay, a profile of another contact. The
 *          statement (sql/create_conversations.sql) writes by the same rules; what it wrote is part
 *          of what was found.
 * Threads  Any; pure.
 */
#ifndef SERVICES_CONVERSATION_CREATE_RULES_H
#define SERVICES_CONVERSATION_CREATE_RULES_H

#include <stdbool.h>

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
