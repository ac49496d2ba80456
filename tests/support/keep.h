/*
 * keep - memory that a test never gives back, and that no leak checker shall miss.
 *
 * Threads  Any.
 */
#ifndef TESTS_SUPPORT_KEEP_H
#define TESTS_SUPPORT_KEEP_H

#include <stddef.h>

/* Reachable until the process ends; returns its argument. */
void *keep(void *block);

#endif
