/*
 * Every promise of the contract under faults of every kind: see fault_run.h and check_history.
 *
 * TEST_LONG=1: half an hour.
 */
#include <criterion/criterion.h>

#include "tests/faults/fault_run.h"
#include "tests/support/measure.h"
#include "tests/support/stack.h"

TestSuite(faults, .init = stack_have_alone);

enum { SHORT_S = 75, LONG_S = 1800, PER_SECOND = 300 };

Test(faults, no_promise_is_broken_whatever_fails)
{
    static struct fault_run run;

    fault_run_settings(&run, long_form_or(LONG_S, SHORT_S), PER_SECOND, true);
    fault_run(&run);
}
