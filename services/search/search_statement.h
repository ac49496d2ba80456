/*
 * search_statement - the statement that runs a query, with its parameters.
 *
 * What     A few fixed statements with bound parameters serve all queries. A query that filters only
 *          by created_at uses those that count from the index alone; one that excludes no values
 *          does not pay for lists of exclusions.
 * Owns     Everything is in the arena.
 * Threads  Any; pure.
 */
#ifndef SERVICES_SEARCH_SEARCH_STATEMENT_H
#define SERVICES_SEARCH_SEARCH_STATEMENT_H

#include "common/db/db.h"
#include "search_sql.h"
#include "services/search/search_query.h"

/* In the order of sql/search_without.sql; found.c selects those that the other statements take. */
enum statement_param {
    STATEMENT_ORGANIZATION,
    STATEMENT_CONTACT_ID,
    STATEMENT_CONTACT_EXTERNAL_ID,
    STATEMENT_CREATED_MIN,
    STATEMENT_BEHIND_TIME,
    STATEMENT_BEHIND_ID,
    STATEMENT_UPDATED_MIN,
    STATEMENT_UPDATED_END,
    STATEMENT_STATUSES,
    STATEMENT_CHANNELS,
    STATEMENT_EXTERNAL_IDS,
    STATEMENT_ATTRIBUTES,
    STATEMENT_CREATED_NOT, /* from here to STATEMENT_ROWS: NULL for search_filtered.sql */
    STATEMENT_UPDATED_NOT,
    STATEMENT_CHANNELS_NOT,
    STATEMENT_EXTERNAL_IDS_NOT,
    STATEMENT_ATTRIBUTES_ALL,
    STATEMENT_ATTRIBUTES_NOT,
    STATEMENT_ROWS,
    STATEMENT_PARAMS
};

struct search_statement {
    /* For the page: SQL_SEARCH_CONTACT, SQL_SEARCH_FILTERED or SQL_SEARCH_WITHOUT. */
    enum search_sql sql;
    struct str params[STATEMENT_PARAMS];
    size_t rows;
    bool is_first_page;
    /* The upper bound of what is counted, as a second and as a place. */
    struct str created_end, end_time, end_id;
    struct str known_total; /* from the cursor; STR_NONE: it must be counted */
    int64_t total;          /* the same as a number */
};

/* `behind` NULL = the first page. The statement asks for one row more than the page: if it comes,
   there is a next page. */
void search_statement_make(const struct search_query *query, const struct uuid *organization_id,
                           const struct page_token *behind, struct arena *arena,
                           struct search_statement *out);

#endif
