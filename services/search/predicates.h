/*
 * predicates - the filters of a query, merged by field.
 *
 * What     A filter that occurs twice counts once. Filters on the same field are merged: statuses
 *          into one set, for example, and times into one interval, in the form that the statement
 *          takes (search_statement.h).
 * Owns     Everything is in the arena.
 * Threads  Any; pure.
 */
#ifndef SERVICES_SEARCH_PREDICATES_H
#define SERVICES_SEARCH_PREDICATES_H

#include "common/base/buf.h"
#include "common/model/conversation_model.h"
#include "services/search/search_query.h"

/* Unix seconds. No time is outside these, which are well within the range of a timestamptz. */
#define PREDICATES_SECONDS_MIN INT64_C(-200000000000)
#define PREDICATES_SECONDS_MAX INT64_C(9000000000000)

/* No filter on the status. */
#define PREDICATES_STATUS_ANY ((1u << CONVERSATION_STORED_STATUSES) - 1)

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
    unsigned statuses; /* a bit for each of conversation_stored_statuses that matches */
    struct predicates_set channels, external_ids;
    /* Either `attributes`, one object that the custom attributes must contain; or two arrays of
       objects: all that they must contain, and all that they must not. All STR_NONE: no filter. */
    struct str attributes, attributes_all, attributes_without;
    /* Some filter needs columns that are not in the index of a contact's conversations. */
    bool needs_rows;
};

void predicates_make(const struct search_query *query, struct arena *arena, struct predicates *out);

#endif
