/*
 * lenient - limits on time and memory, as wide as the build that is tested needs them.
 *
 * What     A sanitizer makes programs slower and larger, and the machine may be short of both.
 *          TEST_LENIENCE is what tools/run-tests multiplies limits by then; without it they are
 *          what the test says.
 * Threads  Any.
 */
#ifndef TESTS_SUPPORT_LENIENT_H
#define TESTS_SUPPORT_LENIENT_H

#include <stdint.h>

int64_t lenient(int64_t limit);

#endif
