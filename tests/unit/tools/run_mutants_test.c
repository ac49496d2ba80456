/* tests/faults/run-mutants --check names mutants that no longer apply or break no known promise. */
#include "tests/unit/tools/check_tree.h"

TestSuite(run_mutants, .init = open_tree, .fini = remove_tree);

#define MUTANT(promise, old)                                                                       \
    "It is written otherwise.\nplan: none\nbreaks: " promise "\n\n"                                \
    "--- a/.ci/run\n+++ b/.ci/run\n@@ -1 +1 @@\n-" old "\n+#!/bin/sh\n"

/* The exit status; its output is in `output`. */
static int check(const char *mutant)
{
    char command[160];

    write_file("bug.patch", mutant);
    snprintf(command, sizeof(command), "tests/faults/run-mutants --check %s", root);
    return run_command(command);
}

Test(run_mutants, says_nothing_of_one_that_fits)
{
    cr_expect_eq(check(MUTANT("newest first", "#!/usr/bin/env bash")), 0, "%s", output);
    cr_expect_str_empty(output);
}

Test(run_mutants, names_one_that_does_not_fit)
{
    cr_expect_eq(check(MUTANT("newest first", "#!/usr/bin/env zsh")), 1);
    cr_expect_not_null(strstr(output, "bug.patch: the patch no longer applies to the sources"),
                       "%s", output);
}

Test(run_mutants, names_one_that_breaks_nothing_that_is_promised)
{
    cr_expect_eq(check(MUTANT("oldest first", "#!/usr/bin/env bash")), 1);
    cr_expect_not_null(strstr(output, "bug.patch: check_history has no promise \"oldest first\""),
                       "%s", output);
}

Test(run_mutants, names_one_that_does_not_say_what_it_is)
{
    cr_expect_eq(check("--- a/.ci/run\n"), 1);
    cr_expect_not_null(strstr(output, "bug.patch does not begin with a description"), "%s", output);
}
