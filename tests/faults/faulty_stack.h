/*
 * faulty_stack - the stack with a proxy in each link to NATS and PostgreSQL, and faults done to it.
 *
 * What     Has every process of ours reach either server through a proxy of its own: writes that into
 *          the scripts that start it, and starts it again. The links stay until the stack is made anew.
 * Owns     The proxies, which end with the test's process.
 * Threads  The test's main thread.
 * Fails    Fails the test.
 */
#ifndef TESTS_FAULTS_FAULTY_STACK_H
#define TESTS_FAULTS_FAULTY_STACK_H

#include <stdbool.h>

#include "tests/faults/fault_plan.h"

/* Returns when all is ready. */
void faulty_stack_open(void);
/* Does what a step says, writes it into the history, and returns when it is over and its time to heal
   too, or when clock_mono_us() has come to `until_us`; all faults have ended then. */
void faulty_stack_run(const struct fault_step *step, int64_t until_us);
/* Whether no fault has been under way since then, nor PostgreSQL's recovery from one, and none of these
   ended less than FAULTY_STACK_AFTERMATH_MS before. From any thread. */
enum { FAULTY_STACK_AFTERMATH_MS = 4000 };
bool faulty_stack_was_calm(int64_t from_us);
/* Waits until every process is ready. */
void faulty_stack_await_ready(void);
/* Since faulty_stack_open() processes have ended with status 0, or because a step killed them. */
void faulty_stack_expect_no_crash(void);

#endif
