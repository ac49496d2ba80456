/*
 * faulty_clock - clocks of the stack's processes that a test can move: clock_offset.c is preloaded
 * into each.
 *
 * Threads  The test's main thread.
 * Fails    Fails the test.
 */
#ifndef TESTS_FAULTS_FAULTY_CLOCK_H
#define TESTS_FAULTS_FAULTY_CLOCK_H

#include <stdbool.h>

/* Whether the programs have no sanitizer, which would have to be loaded first. */
bool faulty_clock_is_possible(void);
/* Lines for the shell script that becomes the process; valid until the test ends. Its clock is right
   at first. */
const char *faulty_clock_lines(const char *process);
/* 0: right again. */
void faulty_clock_set(const char *process, int seconds_ahead);

#endif
