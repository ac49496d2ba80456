/*
 * never_free - memory that a test never frees, on purpose: the leak checker does not report it.
 *
 * Threads  Any.
 */
#ifndef TESTS_SUPPORT_NEVER_FREE_H
#define TESTS_SUPPORT_NEVER_FREE_H

#include <stddef.h>

/* Reachable until the process ends; returns its argument. */
void *never_free(void *block);

#endif
