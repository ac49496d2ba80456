/*
 * changes - reads the log of changes. A change by access reaches the log a moment later: these
 * functions wait for it.
 *
 * Threads  One at a time.
 * Fails    Fails the test: a change that takes half a minute is considered lost.
 */
#ifndef TESTS_SUPPORT_CHANGES_H
#define TESTS_SUPPORT_CHANGES_H

#include <stdint.h>

/* Returns once all changes that access has made in the organization are in the log. */
void changes_await(const char *organization_id);
/* The number of the organization's changes that match an SQL condition, once all of them are in the
   log. */
int64_t changes_count(const char *organization_id, const char *condition);

#endif
