/*
 * sieve - all filters of a query, drawn together by field.
 *
 * What     However many filters there are on a status or a time, what is left is one set or one
 *          interval. Whatever holds for a conversation stands here once, in the form in which the
 *          statement takes it.
 * Owns     Everything is in the arena.
 * Threads  Any; pure.
 */
#ifndef SERVICES_SEARCH_SIEVE_H
#define SERVICES_SEARCH_SIEVE_H

#include "common/base/buf.h"
#include "services/search/query.h"

/* Unix seconds. A time that is sent is brought between these, which a timestamptz can hold with
   room to spare, so that none can make the database fail; nothing stored is near them. */
#define SIEVE_SECONDS_LEAST INT64_C(-200000000000)
#define SIEVE_SECONDS_MOST  INT64_C(9000000000000)

/* What is stored. `closed` is a legacy row, which clients see as `resolved`. */
#define SIEVE_STATUSES 6
extern const char *const sieve_statuses[SIEVE_STATUSES];

struct sieve_interval {
    int64_t least, end; /* from the one to before the other */
    struct str without; /* seconds in it that are left out: an array's text */
};

struct sieve_set {
    bool is_limited; /* false: any value will do */
    struct str *of;  /* else one of these ... */
    size_t n_of;
    struct str without; /* ... and in any case none of these: an array's text */
};

struct sieve {
    struct sieve_interval created, updated;
    unsigned statuses; /* a bit for each of sieve_statuses */
    struct sieve_set channels, external_ids;
    struct str attributes, attributes_without; /* arrays of objects of one key */
    bool
        needs_rows; /* something is asked that the index of a contact's conversations cannot tell */
};

void sieve_make(const struct query *query, struct arena *arena, struct sieve *out);

#endif
