/*
 * search_query - the body of a search, checked, and where a page of it begins.
 *
 * What     {"query": filter or {"operator": "AND", "value": [filter...]}, "pagination"?:
 *          {"per_page"?, "starting_after"?}} becomes a struct, or a list of errors in the order
 *          of the document. There is exactly one filter that names the contact; it stands apart
 *          from the others.
 *          A page token says where a page begins, and has a form as a cursor. That carries the
 *          total of its search where it took long to count; elsewhere each page counts again.
 * Owns     Everything is in the arena of the errors; nothing points into the body.
 * Threads  Any; pure, the time is an argument.
 */
#ifndef SERVICES_SEARCH_SEARCH_QUERY_H
#define SERVICES_SEARCH_SEARCH_QUERY_H

#include "common/base/uuid.h"
#include "common/crypto/cursor.h"
#include "common/json/fields.h"
#include "services/search/filter.h"

/* -- the query --------------------------------------------------------------------------------- */

#define SEARCH_QUERY_FILTERS_MAX      50 /* that of the contact included */
#define SEARCH_QUERY_PER_PAGE_DEFAULT 50
#define SEARCH_QUERY_PER_PAGE_MAX     100

struct search_query {
    struct filter contact;
    struct filter filters[SEARCH_QUERY_FILTERS_MAX]; /* the others, in the order of the document */
    size_t n_filters;
    int per_page;
    struct str starting_after; /* as sent; STR_NONE: the first page */
};

/* False: `errors` say why. They hold none when this is called. */
MUST_CHECK bool search_query_read(struct str body, struct search_query *out, struct errors *errors);

/* What a cursor of this search is bound to: organization, contact, filters and page size. The order
   of an object's keys makes no difference; the order of filters and of their values does. */
struct str search_query_binding(const struct search_query *query,
                                const struct uuid *organization_id, struct arena *arena);

/* -- page tokens ------------------------------------------------------------------------------- */

/* The page holds conversations behind this one: older, or as old with a lesser id. */
struct page_token {
    int64_t created_us; /* Unix microseconds */
    struct uuid id;
    uint32_t page; /* which page it is, counted from 1 */
    bool has_total;
    uint64_t total; /* how many there were in all; 0 without has_total */
};

/* `binding` is what search_query_binding() gives. */
void page_token_write(const struct page_token *token, const struct cursor_keys *keys,
                      struct str binding, int64_t now_us, char text[CURSOR_TEXT_MAX + 1]);
/* False for whatever is not a live cursor of ours for that search. */
MUST_CHECK bool page_token_read(struct str text, const struct cursor_keys *keys, struct str binding,
                                int64_t now_us, struct page_token *out);

#endif
