/*
 * large_page - a contact whose conversations fill a page of megabytes.
 *
 * Threads  The test's.
 * Fails    The test.
 */
#ifndef TESTS_SUPPORT_LARGE_PAGE_H
#define TESTS_SUPPORT_LARGE_PAGE_H

#include "tests/support/api_client.h"

/* The body of a search for that page. */
#define LARGE_PAGE_SEARCH                                                                          \
    "{\"query\":{\"field\":\"contact.external_id\",\"operator\":\"=\",\"value\":\"u\"},"           \
    "\"pagination\":{\"per_page\":100}}"

/* 101 conversations of the organization, each with 20 attributes of 500 times one character, whose
   code point is given in decimal. */
void large_page_make(const struct org *org, const char *code_point);

#endif
