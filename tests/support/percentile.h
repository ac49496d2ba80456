/*
 * percentile - the value that so many of a hundred do not exceed.
 *
 * What     Of n values the one at (n - 1) * percent / 100, rounded down: 0 is the least, 50 the
 *          median (of an even number, the lower one in the middle), 100 the largest.
 * Threads  Any; the values are sorted where they are.
 * Fails    Fails the test when there are none.
 */
#ifndef TESTS_SUPPORT_PERCENTILE_H
#define TESTS_SUPPORT_PERCENTILE_H

#include <stddef.h>
#include <stdint.h>

int64_t percentile(int64_t *values, size_t n, int percent);

#endif
