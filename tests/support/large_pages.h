/*
 * large_pages - pages of megabytes, also many of them that are asked for at once.
 *
 * What     Those at once are asked for over the bus, as gateways and operators do.
 * Threads  One at a time.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_LARGE_PAGES_H
#define TESTS_SUPPORT_LARGE_PAGES_H

#include "tests/support/api_client.h"

/* The body of a search for that page. */
#define LARGE_PAGE_SEARCH                                                                          \
    "{\"query\":{\"field\":\"contact.external_id\",\"operator\":\"=\",\"value\":\"u\"},"           \
    "\"pagination\":{\"per_page\":100}}"

/* 101 conversations of the organization, each with 20 attributes of 500 times one character, given
   by its code point in decimal. */
void large_page_make(const struct org *org, const char *code_point);

struct pages {
    int n_replies, n_large; /* those that are ok and of more than so many bytes */
    int n_busy;             /* those that refuse: nothing was started in time */
};

/* Returns when as many replies have come, or when it is too late for them. */
struct pages pages_ask(const struct org *org, const char *subject, const char *body, int n,
                       size_t large);

#endif
