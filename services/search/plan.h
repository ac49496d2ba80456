/*
 * plan - the statement that answers a query, and its parameters.
 *
 * What     A fixed statement with bound parameters serves every query; one that filters by nothing
 *          but created_at gets a statement that can count on the index alone.
 * Owns     Parameters live in the arena.
 * Threads  Any; pure.
 */
#ifndef SERVICES_SEARCH_PLAN_H
#define SERVICES_SEARCH_PLAN_H

#include "common/db/db.h"
#include "common/resource/conversation_json.h"
#include "search_sql.h"
#include "services/search/place.h"
#include "services/search/query.h"

/* As they are numbered in sql/search_filtered.sql; search_contact.sql has the first ones of them.
 */
enum plan_param {
    PLAN_ORGANIZATION,
    PLAN_CONTACT_ID,
    PLAN_CONTACT_EXTERNAL_ID,
    PLAN_CREATED_LEAST,
    PLAN_CREATED_END,
    PLAN_BEHIND_TIME,
    PLAN_BEHIND_ID,
    PLAN_ROWS,
    PLAN_OF_CONTACT, /* how many search_contact.sql has */
    PLAN_UPDATED_LEAST = PLAN_OF_CONTACT,
    PLAN_UPDATED_END,
    PLAN_CREATED_NOT,
    PLAN_UPDATED_NOT,
    PLAN_STATUSES,
    PLAN_CHANNELS,
    PLAN_CHANNELS_NOT,
    PLAN_EXTERNAL_IDS,
    PLAN_EXTERNAL_IDS_NOT,
    PLAN_ATTRIBUTES,
    PLAN_ATTRIBUTES_NOT,
    PLAN_PARAMS
};

/* What comes back. The first row has the total and, unless nobody is meant, the contact; each other
   row has a conversation, with the columns of common/resource/conversation_json.h up to the
   contact's but its times in Unix microseconds. */
enum plan_column {
    PLAN_TOTAL,
    PLAN_CONTACT, /* its id, external id, name, email and phone */
    PLAN_CONVERSATION = PLAN_CONTACT + CONVERSATION_COLUMNS - CONVERSATION_CONTACT_ID,
    PLAN_CREATED_US = PLAN_CONVERSATION + CONVERSATION_CREATED_AT
};

struct plan {
    enum search_sql statement;
    db_param params[PLAN_PARAMS];
    size_t n;
};

/* `behind` NULL = the first page. One row more than the page is asked for: if it comes, there is a
   next page. */
void plan_make(const struct query *query, const struct uuid *organization_id,
               const struct place *behind, struct arena *arena, struct plan *out);

#endif
