/*
 * predicates - all filters of a query, merged by field, and the statement that answers it.
 *
 * What     A filter that is there twice counts once. Filters on the same field are merged, statuses
 *          into one set and times into one interval, in the form in which the statement takes them.
 *          Fixed statements with bound parameters serve every query: one that filters only by
 *          created_at gets those that can count on the index alone, and one that leaves no values out
 *          does not pay for lists of them.
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

/* Unix seconds. A time that is sent is brought between these, which a timestamptz can hold with
   room to spare, so that none can make the database fail; nothing stored is near them. */
#define PREDICATES_SECONDS_MIN INT64_C(-200000000000)
#define PREDICATES_SECONDS_MAX INT64_C(9000000000000)

struct predicates_interval {
    int64_t min, end;   /* from the one to before the other */
    struct str without; /* seconds in it that are left out: an array's text, or STR_NONE */
};

struct predicates_set {
    bool is_limited; /* false: any value will do */
    struct str *of;  /* else one of these ... */
    size_t n_of;
    struct str without; /* ... and in any case none of these: an array's text, or STR_NONE */
};

struct predicates {
    struct predicates_interval created, updated;
    unsigned statuses; /* a bit for each of conversation_stored_statuses */
    struct predicates_set channels, external_ids;
    /* Either an object with all that is asked of attributes; or arrays of objects, those that they
       must contain and those that they must not; or all STR_NONE: nothing is asked. */
    struct str attributes, attributes_all, attributes_without;
    bool
        needs_rows; /* something is asked that the index of a contact's conversations cannot tell */
};

void predicates_make(const struct search_query *query, struct arena *arena, struct predicates *out);

/* -- the statement ----------------------------------------------------------------------------- */

/* As they are numbered in sql/search_without.sql; found.c picks those of the others. */
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
    STATEMENT_CREATED_NOT, /* from here on none is set where values are not left out */
    STATEMENT_UPDATED_NOT,
    STATEMENT_CHANNELS_NOT,
    STATEMENT_EXTERNAL_IDS_NOT,
    STATEMENT_ATTRIBUTES_ALL,
    STATEMENT_ATTRIBUTES_NOT,
    STATEMENT_ROWS,
    STATEMENT_PARAMS
};

struct search_statement {
    /* Of the page: SQL_SEARCH_CONTACT, SQL_SEARCH_FILTERED or SQL_SEARCH_WITHOUT. */
    enum search_sql sql;
    db_param params[STATEMENT_PARAMS];
    size_t rows;
    bool is_first_page;
    /* What is counted is created before this second, or, as a place, behind this one. */
    db_param created_end, end_time, end_id;
    db_param known_total; /* of all pages; STR_NONE: it is to be counted */
    int64_t total;
};

/* Parameters of statements, as text. */
db_param param_of_int(struct arena *arena, int64_t value);
db_param param_of_id(struct arena *arena, const struct uuid *id);

/* `behind` NULL = the first page. One row more than the page is asked for: if it comes, there is a
   next page. */
void search_statement_make(const struct search_query *query, const struct uuid *organization_id,
                           const struct page_token *behind, struct arena *arena,
                           struct search_statement *out);

#endif
