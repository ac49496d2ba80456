/*
 * pages - many pages of a list that are asked for at once, and what that costs who makes them.
 *
 * What     Asks over the bus as gateways and operators do, all at a time.
 * Threads  One at a time.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_PAGES_H
#define TESTS_SUPPORT_PAGES_H

#include <sys/types.h>

#include "tests/support/api_client.h"

struct pages {
    int n_replies, n_large; /* those that are ok and of more than so many bytes */
    int n_busy;             /* those that refuse: nothing was started in time */
};

/* Returns when as many replies have come, or when it is too late for them. */
struct pages pages_ask(const struct org *org, const char *subject, const char *body, int n,
                       size_t large);

/* The most memory that a process has had since it was forgotten. */
void pages_forget_peak(pid_t pid);
long pages_peak_kb(pid_t pid);

#endif
