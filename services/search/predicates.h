/*
 * predicates - the filters of a query, merged by field, and the statement that runs it.
 *
 * What     A filter that occurs twice counts once. Filters on the same field are merged: statuses
 *          into one set, for example, and times into one interval, in the form that the statement
 *          takes. A few fixed statements with bound parameters serve all queries. A query that
 *          filters only by created_at uses those that count from the index alone; one that excludes
 *          no values does not pay for lists of exclusions.
 * Owns     Everything is in the arena.
 * Threads  Any; pure.
 */
#ifndef SERVICES_SEARCH_PREDICATES_H
#define SERVICES_SEARCH_PREDICATES_H

#include "common/base/buf.h"
#include "common/db/db.h"
#include "common/model/conversation_model.h"
#include "search_sql.h"
#include "services/search/search_query.h"

/* -- predicates -------------------------------------------------------------------------------- */

/* Unix seconds. No time is outside these, which are well within the range of a timestamptz. */
#define PREDICATES_SECONDS_MIN INT64_C(-200000000000)
#define PREDICATES_SECONDS_MAX INT64_C(9000000000000)

struct predicates_interval {
    int64_t min, end;   /* min <= second < end */
    struct str without; /* excluded seconds: the text of an array, or STR_NONE */
};

struct predicates_set {
    bool is_limited; /* true: only values in `of` match; false: any value does */
    struct str *of;
    size_t n_of;
    struct str without; /* excluded in either case: the text of an array, or STR_NONE */
};

struct predicates {
    struct predicates_interval created, updated;
    unsigned statuses; /* a bit for each of conversation_stored_statuses */
    struct predicates_set channels, external_ids;
    /* Either `attributes`, one object that the custom attributes must contain; or two arrays of
       objects: all that they must contain, and all that they must not. All STR_NONE: no filter. */
    struct str attributes, attributes_all, attributes_without;
    /* Some filter needs columns that are not in the index of a contact's conversations. */
    bool needs_rows;
};

void predicates_make(const struct search_query *query, struct arena *arena, struct predicates *out);

/* -- the statement ----------------------------------------------------------------------------- */

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
