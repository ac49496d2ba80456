/*
 * measure - shared by tests that measure: limits, sizes, percentiles, memory.
 *
 * What     A sanitizer makes programs slower and larger, and other tests may use the machine. Then
 *          tools/run-tests sets TEST_LIMIT_SCALE, by which limits are multiplied. Tests that have a
 *          short form use it unless TEST_LONG=1 is set.
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
/* A size: the long form's with TEST_LONG=1, else the short form's. */
int long_form_or(int whole, int usual);

/* Of n values, at least 1, the one at (n - 1) * percent / 100, rounded down: 0 is the smallest, 50
   the median (the lower one of two), 100 the largest. Sorts the values. */
int64_t percentile(int64_t *values, size_t n, int percent);

/* The resident memory of a process in kilobytes. With ASan it includes what is freed but kept in
   quarantine, see tools/run-tests. */
long measure_memory_kb(pid_t pid);
/* The peak memory of a process, measured from measure_peak_from_now() on. */
void measure_peak_from_now(pid_t pid);
long measure_peak_kb(pid_t pid);

#endif
