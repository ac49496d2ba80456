/*
 * changes - the log of changes as tests look into it. What access changes is there a moment after the
 * change: these wait for it.
 *
 * Threads  One at a time.
 * Fails    Fails the test: a change that is under way for half a minute does not come.
 */
#ifndef TESTS_SUPPORT_CHANGES_H
#define TESTS_SUPPORT_CHANGES_H

#include <stdint.h>

/* Whatever access has changed in the organization is in the log. */
void changes_await(const char *organization_id);
/* How many of the organization's are as an SQL condition says, once all of them are there. */
int64_t changes_count(const char *organization_id, const char *condition);

#endif
