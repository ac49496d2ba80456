/*
 * lenient - how much a test asks: of the build that is tested, and of the time there is.
 *
 * What     A sanitizer makes programs slower and larger, and the machine may be short of both.
 *          TEST_LENIENCE is what tools/run-tests multiplies limits by then; without it they are
 *          what the test says. What can be long is short, unless TEST_LONG=1 asks for the whole.
 * Threads  Any.
 */
#ifndef TESTS_SUPPORT_LENIENT_H
#define TESTS_SUPPORT_LENIENT_H

#include <stdint.h>

/* A limit on time or memory. */
int64_t lenient(int64_t limit);
/* A size: that of the long form, or of the usual one. */
int long_or(int whole, int usual);

#endif
