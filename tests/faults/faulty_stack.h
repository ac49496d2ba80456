/*
 * faulty_stack - the stack with a proxy in each link to NATS and PostgreSQL, and faults injected
 * into it.
 *
 * What     Makes every process of ours reach each server through its own proxy: changes the scripts
 *          that start it accordingly, and restarts it. The links stay until the stack is rebuilt.
 * Owns     The proxies, which end with the test's process.
 * Threads  The test's main thread.
 * Fails    Fails the test.
 */
#ifndef TESTS_FAULTS_FAULTY_STACK_H
#define TESTS_FAULTS_FAULTY_STACK_H

#include <stdbool.h>

#include "tests/faults/fault_plan.h"

/* Prepares what the plan needs, and returns once everything is ready. Faults that are impossible
   here (faulty_machine.h) are left out, and not in the history. */
void faulty_stack_open(const struct fault_plan *plan);
/* Executes a step and writes it into the history. Returns when its time to recover is over, or when
   clock_mono_us() reaches `until_us`; all faults have ended then. */
void faulty_stack_run(const struct fault_step *step, int64_t until_us);
/* Whether, since `from_us`, no fault and no recovery of PostgreSQL was in progress, and the last of
   them had ended FAULTY_STACK_AFTERMATH_MS before. From any thread. */
enum { FAULTY_STACK_AFTERMATH_MS = 4000 };
bool faulty_stack_was_calm(int64_t from_us);
/* When the last of them ended; 0: there was none yet. From any thread. */
int64_t faulty_stack_ended_us(void);
/* Waits until every process is ready. */
void faulty_stack_await_ready(void);
/* Expects that, since faulty_stack_open(), processes have only ended with status 0 or because a
   step killed them. */
void faulty_stack_expect_no_crash(void);

#endif
