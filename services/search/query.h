/*
 * query - the body of a search, judged.
 *
 * What     {"query": filter or {"operator": "AND", "value": [filter...]}, "pagination"?:
 * {"per_page"?, "starting_after"?}} becomes a struct, or a list of problems in the order of the
 * document. There is exactly one filter that names the contact; it stands apart from the others.
 * Owns     Everything is in the arena of the problems; nothing points into the body.
 * Threads  Any; pure.
 */
#ifndef SERVICES_SEARCH_QUERY_H
#define SERVICES_SEARCH_QUERY_H

#include "common/base/uuid.h"
#include "common/wire/problems.h"
#include "services/search/filter.h"

#define QUERY_FILTERS_MOST     50 /* that of the contact included */
#define QUERY_PER_PAGE_DEFAULT 50
#define QUERY_PER_PAGE_MOST    100

struct query {
    struct filter contact;
    struct filter filters[QUERY_FILTERS_MOST]; /* the others, in the order of the document */
    size_t n_filters;
    int per_page;
    struct str starting_after; /* as sent; STR_NONE: the first page */
};

/* False: `problems` say why. They hold none when this is called. */
MUST_CHECK bool query_read(struct str body, struct query *out, struct problems *problems);

/* What a cursor of this search is bound to: organization, contact, filters and page size. The order
   of an object's keys makes no difference; the order of filters and of their values does. */
struct str query_binding(const struct query *query, const struct uuid *organization_id,
                         struct arena *arena);

#endif
