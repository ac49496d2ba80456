/*
 * limit_scale - scales the limits of tests to the build and the machine.
 *
 * What     A sanitizer makes programs slower and larger, and other tests may use the machine.
 *          tools/run-tests then sets TEST_LIMIT_SCALE, by which limits are multiplied.
 *          Tests that have a short form use it unless TEST_LONG=1 is set.
 * Threads  Any.
 */
#ifndef TESTS_SUPPORT_LIMIT_SCALE_H
#define TESTS_SUPPORT_LIMIT_SCALE_H

#include <stdint.h>

/* A limit on time or memory, scaled. */
int64_t limit_scaled(int64_t limit);
/* A size: that of the long form with TEST_LONG=1, else that of the short form. */
int long_form_or(int whole, int usual);

#endif
