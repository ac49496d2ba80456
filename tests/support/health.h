/*
 * health - whether every part of the stack is up and ready.
 *
 * What     Asks the database for a connection, the operator's listener of each process whether it
 *          is ready, and both how many links they have.
 * Threads  One at a time.
 */
#ifndef TESTS_SUPPORT_HEALTH_H
#define TESTS_SUPPORT_HEALTH_H

#include <stdbool.h>

/* Waits for it; false when the time is over. */
bool health_await(int timeout_ms);

#endif
