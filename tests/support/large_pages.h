/*
 * large_pages - pages of several megabytes, including many of them requested at once.
 *
 * What     Concurrent requests go over the bus, as those of gateways and operators do.
 * Threads  One at a time.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_LARGE_PAGES_H
#define TESTS_SUPPORT_LARGE_PAGES_H

#include "tests/support/api_client.h"

/* The body of a search for the page. */
#define LARGE_PAGE_SEARCH                                                                          \
    "{\"query\":{\"field\":\"contact.external_id\",\"operator\":\"=\",\"value\":\"u\"},"           \
    "\"pagination\":{\"per_page\":100}}"

/* 101 conversations of the organization, each with 20 attributes of 500 times the same character,
   given by its code point in decimal. */
void large_page_make(const struct org *org, const char *code_point);

struct pages {
    int n_replies, n_large; /* large: ok, and longer than `large` bytes */
    int n_busy;             /* refused: not started in time */
};

/* Returns when all replies have arrived, or when it is too late for more. */
struct pages pages_ask(const struct org *org, const char *subject, const char *body, int n,
                       size_t large);

#endif
