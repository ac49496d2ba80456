/*
 * page_token - where a page of a search begins, and its form as a cursor.
 *
 * What     A cursor carries the total of its search where that took long to count; elsewhere each
 *          page counts again.
 * Threads  Any; pure, the time is an argument.
 * Fails    page_token_read() is false for whatever is not a live cursor of ours for that search.
 */
#ifndef SERVICES_SEARCH_PAGE_TOKEN_H
#define SERVICES_SEARCH_PAGE_TOKEN_H

#include "common/base/uuid.h"
#include "common/crypto/cursor.h"

/* The page holds what is behind this conversation: older, or as old with a lesser id. */
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
MUST_CHECK bool page_token_read(struct str text, const struct cursor_keys *keys, struct str binding,
                                int64_t now_us, struct page_token *out);

#endif
