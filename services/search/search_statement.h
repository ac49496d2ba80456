/*
 * search_statement - the statement that answers a query, and its parameters.
 *
 * What     A fixed statement with bound parameters serves every query; one that filters by nothing
 *          but created_at gets a statement that can count on the index alone.
 * Owns     Parameters live in the arena.
 * Threads  Any; pure.
 */
#ifndef SERVICES_SEARCH_STATEMENT_H
#define SERVICES_SEARCH_STATEMENT_H

#include "common/db/db.h"
#include "common/resource/conversation_json.h"
#include "search_sql.h"
#include "services/search/page_token.h"
#include "services/search/search_query.h"

/* As they are numbered in sql/search_filtered.sql; search_contact.sql has the first ones of them.
 */
enum statement_param {
    STATEMENT_ORGANIZATION,
    STATEMENT_CONTACT_ID,
    STATEMENT_CONTACT_EXTERNAL_ID,
    STATEMENT_CREATED_MIN,
    STATEMENT_CREATED_END,
    STATEMENT_BEHIND_TIME,
    STATEMENT_BEHIND_ID,
    STATEMENT_ROWS,
    STATEMENT_KNOWN_TOTAL,
    STATEMENT_OF_CONTACT, /* how many search_contact.sql has */
    STATEMENT_UPDATED_MIN = STATEMENT_OF_CONTACT,
    STATEMENT_UPDATED_END,
    STATEMENT_CREATED_NOT,
    STATEMENT_UPDATED_NOT,
    STATEMENT_STATUSES,
    STATEMENT_CHANNELS,
    STATEMENT_CHANNELS_NOT,
    STATEMENT_EXTERNAL_IDS,
    STATEMENT_EXTERNAL_IDS_NOT,
    STATEMENT_ATTRIBUTES,
    STATEMENT_ATTRIBUTES_ALL,
    STATEMENT_ATTRIBUTES_NOT,
    STATEMENT_PARAMS
};

/* What comes back. The first row has the total and, unless no contact is meant, the contact; the
   last one has what it all took, in microseconds; each between them has a conversation, with the
   columns of common/resource/conversation_json.h up to the contact's but its times in Unix
   microseconds. */
enum statement_column {
    STATEMENT_TOTAL,
    STATEMENT_TOOK_US = STATEMENT_TOTAL,
    STATEMENT_CONTACT, /* its id, external id, name, email and phone */
    STATEMENT_CONVERSATION = STATEMENT_CONTACT + CONVERSATION_COLUMNS - CONVERSATION_CONTACT_ID,
    STATEMENT_CREATED_US = STATEMENT_CONVERSATION + CONVERSATION_CREATED_AT
};

struct search_statement {
    enum search_sql sql;
    db_param params[STATEMENT_PARAMS];
    size_t n;
};

/* `behind` NULL = the first page. One row more than the page is asked for: if it comes, there is a
   next page. */
void search_statement_make(const struct search_query *query, const struct uuid *organization_id,
                           const struct page_token *behind, struct arena *arena,
                           struct search_statement *out);

#endif
