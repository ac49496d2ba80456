/*
 * measure - what tests that measure have in common: limits, sizes, percentiles, memory.
 *
 * What     A sanitizer makes programs slower and larger, and other tests may use the machine.
 *          tools/run-tests then sets TEST_LIMIT_SCALE, by which limits are multiplied.
 *          Tests that have a short form use it unless TEST_LONG=1 is set.
 * Threads  Any.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_MEASURE_H
#define TESTS_SUPPORT_MEASURE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A limit on time or memory, scaled. */
int64_t limit_scaled(int64_t limit);
/* A size: that of the long form with TEST_LONG=1, else that of the short form. */
int long_form_or(int whole, int usual);

/* Of n values, 1 at least, the one at (n - 1) * percent / 100, rounded down: 0 is the least, 50 the
   median (of an even number, the lower one in the middle), 100 the largest. Sorts them. */
int64_t percentile(int64_t *values, size_t n, int percent);

/* The most memory that a process has had since then. */
void measure_peak_from_now(pid_t pid);
long measure_peak_kb(pid_t pid);

#endif
