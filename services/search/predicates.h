/*
 * predicates - all filters of a query, merged by field.
 *
 * What     A filter that is there twice counts once. Filters on the same
 *          field are merged, statuses into one set and times into one interval,
 *          in the form in which the statement takes them.
 * Owns     Everything is in the arena.
 * Threads  Any; pure.
 */
#ifndef SERVICES_SEARCH_PREDICATES_H
#define SERVICES_SEARCH_PREDICATES_H

#include "common/base/buf.h"
#include "services/search/search_query.h"

/* Unix seconds. A time that is sent is brought between these, which a timestamptz can hold with
   room to spare, so that none can make the database fail; nothing stored is near them. */
#define PREDICATES_SECONDS_MIN INT64_C(-200000000000)
#define PREDICATES_SECONDS_MAX INT64_C(9000000000000)

/* What is stored. `closed` is a legacy row, which clients see as `resolved`. */
#define PREDICATES_STATUSES 6
extern const char *const predicates_statuses[PREDICATES_STATUSES];

struct predicates_interval {
    int64_t min, end;   /* from the one to before the other */
    struct str without; /* seconds in it that are left out: an array's text */
};

struct predicates_set {
    bool is_limited; /* false: any value will do */
    struct str *of;  /* else one of these ... */
    size_t n_of;
    struct str without; /* ... and in any case none of these: an array's text, or STR_NONE */
};

struct predicates {
    struct predicates_interval created, updated;
    unsigned statuses; /* a bit for each of predicates_statuses */
    struct predicates_set channels, external_ids;
    /* Either an object with all that is asked of attributes; or arrays of objects, those that they
       must contain and those that they must not; or all STR_NONE: nothing is asked. */
    struct str attributes, attributes_all, attributes_without;
    bool
        needs_rows; /* something is asked that the index of a contact's conversations cannot tell */
};

void predicates_make(const struct search_query *query, struct arena *arena, struct predicates *out);

#endif
