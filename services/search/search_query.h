/*
 * search_query - the checked body of a search, and where a page begins.
 *
 * What     {"query": filter or {"operator": "AND", "value": [filter...]}, "pagination"?:
 *          {"per_page"?, "starting_after"?}} becomes a struct, or a list of errors in the order of
 *          the document. Exactly one filter names the contact; it is kept apart from the others.
 *
 *          A page token says where a page begins; a cursor is its signed text. The token carries
 *          the total of its search if that is large (COUNT_MAX in search.c); otherwise each page
 *          counts again.
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

#define SEARCH_QUERY_FILTERS_MAX      50 /* the contact's filter included */
#define SEARCH_QUERY_PER_PAGE_DEFAULT 50
#define SEARCH_QUERY_PER_PAGE_MAX     100

struct search_query {
    struct filter contact;
    struct filter filters[SEARCH_QUERY_FILTERS_MAX]; /* the others, in the order of the document */
    size_t n_filters;
    int per_page;
    struct str starting_after; /* as sent; STR_NONE: the first page */
};

/* `errors` must be empty. False: they say why. */
MUST_CHECK bool search_query_read(struct str body, struct search_query *out, struct errors *errors);

/* What a cursor of this search is bound to: organization, contact, filters and page size. The order
   of an object's keys makes no difference; the order of filters and of their values does. */
struct str search_query_binding(const struct search_query *query,
                                const struct uuid *organization_id, struct arena *arena);

/* -- page tokens ------------------------------------------------------------------------------- */

/* The page has the conversations after this one: created earlier, or at the same time with a
   smaller id. */
struct page_token {
    int64_t created_us; /* Unix microseconds */
    struct uuid id;
    uint32_t page; /* its number, from 1 */
    bool has_total;
    uint64_t total; /* of the search; 0 without has_total */
};

/* `binding` comes from search_query_binding(). */
void page_token_write(const struct page_token *token, const struct cursor_keys *keys,
                      struct str binding, int64_t now_us, char text[CURSOR_TEXT_MAX + 1]);
/* False unless `text` is an unexpired cursor of that search, signed with one of our keys. */
MUST_CHECK bool page_token_read(struct str text, const struct cursor_keys *keys, struct str binding,
                                int64_t now_us, struct page_token *out);

#endif
