/*
 * health - whether every part of the stack is up and ready.
 *
 * What     Asks the database for a connection, and the operator's listener of each process.
 * Threads  One at a time.
 */
#ifndef TESTS_SUPPORT_HEALTH_H
#define TESTS_SUPPORT_HEALTH_H

#include <stdbool.h>

/* Waits for it; false when the time is over. */
bool health_await(int timeout_ms);
/* Of the database alone, now. */
bool health_has_database(void);

#endif
