/*
 * faulty_machine - a full disk of PostgreSQL (postgres_disk.h), and clocks of the stack's processes
 * that are wrong: clock_offset.c is preloaded into each.
 *
 * Threads  The test's main thread.
 * Fails    Fails the test.
 */
#ifndef TESTS_FAULTS_FAULTY_MACHINE_H
#define TESTS_FAULTS_FAULTY_MACHINE_H

#include <stdbool.h>

#include "tests/faults/fault_plan.h"
#include "tests/support/supervisor_log.h"

/* Prepares the disk if the plan fills it, and clocks if it sets them. Prints what is impossible: a
   disk if none can be mounted, clocks of programs with a sanitizer, which must be loaded first. */
void faulty_machine_open(const struct fault_plan *plan);
/* Whether faults of this kind were prepared. */
bool faulty_machine_has(enum fault_kind kind);
/* If clocks were prepared: lines for the shell script that becomes the process, valid until the test
   ends, after which its clock is right at first. Otherwise "". */
const char *faulty_machine_lines(const char *process);
/* Fails the test if a process has not loaded the library, and so has the clock of the machine. */
void faulty_machine_expect_clocks(void);

void faulty_machine_begin(const struct fault *fault);
void faulty_machine_end(const struct fault *fault);
/* When the disk was full; valid until the test ends. */
size_t faulty_machine_full(const struct supervisor_log_span **spans);

#endif
