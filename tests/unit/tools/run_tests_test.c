/* tools/run-tests: what it counts as failed, and that nothing outlives it. In a tree of the test's
 * own, whose test programs and stack are scripts. */
#include <criterion/criterion.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/str.h"

static char root[] = "/tmp/run-tests.XXXXXX";

static int shell(const char *command)
{
    const int status = system(command);

    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void must_do(const char *command)
{
    cr_assert_eq(shell(command), 0, "%s", command);
}

/* A running stack has a lock; each stop is recorded. */
static void make_tree(void)
{
    cr_assert_not_null(mkdtemp(root));
    setenv("TREE", root, 1);
    setenv("TEST_SLOWNESS", "1", 1);
    must_do("cd $TREE && mkdir -p deploy/local build && cp -r $OLDPWD/tools . &&"
            " mkdir tests && cp -r $OLDPWD/tests/support tests");
    must_do("cat >$TREE/deploy/local/stack <<'END'\n"
            "#!/bin/sh\n"
            "case $1 in\n"
            "free-port) echo 20000 ;;\n"
            "up) mkdir -p $RUN_DIR/log; touch $RUN_DIR/env $RUN_DIR/lock ;;\n"
            "down) rm $RUN_DIR/lock; basename $RUN_DIR >>$TREE/stopped ;;\n"
            "esac\n"
            "END\n"
            "chmod +x $TREE/deploy/local/stack");
}

static void remove_tree(void)
{
    must_do("rm -rf $TREE");
}

TestSuite(run_tests, .init = make_tree, .fini = remove_tree);

/* The test program of a folder, with one source file of two tests. */
static void make_program(const char *folder, const char *script)
{
    setenv("FOLDER", folder, 1);
    setenv("SCRIPT", script, 1);
    must_do("cd $TREE && mkdir -p tests/$FOLDER build/release/tests/$FOLDER &&"
            " printf 'Test(x, a)\\nTest(x, b)\\n' >tests/$FOLDER/x_test.c &&"
            " echo tests/$FOLDER/x_test.c >build/release/tests/$FOLDER/files &&"
            " printf '#!/bin/sh\\n%s\\n' \"$SCRIPT\" >build/release/tests/$FOLDER/run &&"
            " chmod +x build/release/tests/$FOLDER/run");
}

/* The exit status; the output is in $TREE/out. */
static int run_form(const char *form, const char *what)
{
    char command[512];

    snprintf(command, sizeof(command), "$TREE/tools/run-tests release%s %s >$TREE/out 2>&1", form,
             what);
    return shell(command);
}

static int run_tests(const char *what)
{
    return run_form("", what);
}

static void expect_said(const char *text)
{
    char command[256];

    snprintf(command, sizeof(command), "grep -qE '%s' $TREE/out || { cat $TREE/out; false; }",
             text);
    cr_expect_eq(shell(command), 0, "%s", text);
}

#define CRITERION(tested, passing, failing)                                                        \
    "echo \"[====] Synthesis: Tested: " tested " | Passing: " passing " | Failing: " failing       \
    " | Crashing: 0\""
#define UNIT "build/release/tests/unit/x/run"

Test(run_tests, adds_up_tests_that_ran)
{
    make_program("unit/x", CRITERION("2", "2", "0"));
    cr_expect_eq(run_tests(UNIT), 0);
    expect_said("^2 passed, 0 failed$");
    make_program("unit/x", CRITERION("2", "1", "1"));
    cr_expect_eq(run_tests(UNIT), 1);
    expect_said("^1 passed, 1 failed$");
}

Test(run_tests, bounds_each_test_a_little_less_than_its_file)
{
    make_program("unit/x", "echo \"with $*.\"; " CRITERION("2", "2", "0"));
    cr_expect_eq(run_tests(UNIT), 0);
    cr_expect_eq(shell("grep -q '^with --timeout 570[.]$' $TREE/build/test-log/release/unit.x.log"),
                 0);
}

Test(run_tests, widens_all_limits_on_a_slow_machine)
{
    setenv("TEST_SLOWNESS", "2", 1);
    unsetenv("TEST_LIMIT_SCALE"); /* of the run that this test is part of */
    make_program("unit/x", "echo \"with $* $TEST_LIMIT_SCALE.\"; " CRITERION("2", "2", "0"));
    cr_expect_eq(run_tests(UNIT), 0);
    expect_said("takes 2 times as long as usual");
    cr_expect_eq(
        shell("grep -q '^with --timeout 1170 6[.]$' $TREE/build/test-log/release/unit.x.log"), 0);
}

Test(run_tests, fails_when_fewer_tests_ran_than_the_sources_hold)
{
    make_program("unit/x", CRITERION("1", "1", "0"));
    cr_expect_eq(run_tests(UNIT), 1);
    expect_said("1 tests run and 0 skipped, where the sources hold 2");
    make_program("unit/x", CRITERION("0", "0", "0"));
    cr_expect_eq(run_tests(UNIT), 1);
    make_program("unit/x", "");
    cr_expect_eq(run_tests(UNIT), 1);
    cr_expect_eq(run_tests(""), 1, "no test ran");
}

Test(run_tests, names_a_test_that_is_impossible_on_the_machine)
{
    make_program("unit/x", "echo 'impossible here: no disk'; " CRITERION("1", "1", "0"));
    cr_expect_eq(run_tests(UNIT), 0);
    expect_said("^      impossible here: no disk$");
    expect_said("^1 passed, 0 failed$");
    make_program("unit/x", "echo 'impossible here: no disk'; " CRITERION("0", "0", "0"));
    cr_expect_eq(run_tests(UNIT), 1);
}

/* Criterion's own status is 0 in this case. */
Test(run_tests, fails_if_a_check_after_a_test_fails)
{
    make_program("unit/x",
                 "echo \"[----] tests/a.c:3: Assertion Failed\"; " CRITERION("2", "2", "0"));
    cr_expect_eq(run_tests(UNIT), 1);
    expect_said("a.c:3: Assertion Failed");
    expect_said("ended with 1 failed after a test");
    expect_said("^2 passed, 1 failed$");
    make_program("unit/x", "echo '[----] Warning! The test `x::a` exited during its setup or"
                           " teardown.'; " CRITERION("2", "2", "0"));
    cr_expect_eq(run_tests(UNIT), 1);
    expect_said("exited during its setup or teardown");
    make_program("unit/x",
                 "echo \"[----] tests/a.c:3: Assertion Failed\"; " CRITERION("2", "1", "1"));
    cr_expect_eq(run_tests(UNIT), 1);
    expect_said("^1 passed, 1 failed$");
}

Test(run_tests, fails_when_a_test_is_skipped_that_has_no_reason_to)
{
    must_do("mkdir -p $TREE/tests/api && cd $TREE && printf \"import { test } from 'node:test';\\n"
            "test('a')\\ntest('b')\\n\" >tests/api/x.test.mjs");
    must_do("printf 'test-api:\\n\\t@echo \"# pass 1\"; echo \"# skipped 1\"\\n' >$TREE/Makefile");
    cr_expect_eq(run_tests("tests/api/x.test.mjs"), 0, "one test reads the journal");
    must_do("printf 'test-api:\\n\\t@echo \"# pass 1\"; echo \"# skipped 2\"\\n' >$TREE/Makefile");
    cr_expect_eq(run_tests("tests/api/x.test.mjs"), 1);
}

/* Tests that take hours run only on request. */
Test(run_tests, runs_endurance_only_in_its_own_form)
{
    static const char program[] = "build/release/tests/faults/run";

    make_program("faults", CRITERION("2", "2", "0"));
    must_do("cd $TREE/tests/faults && cp x_test.c endurance_test.c &&"
            " echo tests/faults/x_test.c tests/faults/endurance_test.c"
            " >$TREE/build/release/tests/faults/files");
    cr_expect_eq(run_form("-long", program), 0);
    expect_said("^ok +faults/x ");
    expect_said("^2 passed, 0 failed$");
    cr_expect_eq(run_form("-endurance", program), 0);
    expect_said("^ok +faults/endurance ");
    expect_said("^2 passed, 0 failed$");
}

static void await(const char *condition)
{
    for (int i = 0; i < 3000 && shell(condition) != 0; i++)
        poll(NULL, 0, 10);
    cr_assert_eq(shell(condition), 0, "%s", condition);
}

/* Starts run-tests with programs that do not end: three, of which two run side by side, or one on a
   stack. Returns when `until` is true. */
static pid_t start(const char *const *programs, const char *until)
{
    char tool[64];
    const char *arguments[8] = {tool, "release"};
    pid_t pid;

    snprintf(tool, sizeof(tool), "%s/tools/run-tests", root);
    for (size_t i = 0; programs[i] != NULL; i++)
        arguments[2 + i] = programs[i];
    pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        char out[64];

        snprintf(out, sizeof(out), "%s/out", root);
        if (freopen(out, "w", stdout) != NULL && dup2(STDOUT_FILENO, STDERR_FILENO) >= 0)
            execv(tool, (char *const *)arguments);
        _exit(127);
    }
    await(until);
    return pid;
}

#define FOR_EVER   "echo $$ >$TREE/$(basename $(dirname $0)).pid; sleep 1000"
#define ARE_GONE   "! kill -0 $(cat $TREE/x.pid) 2>/dev/null"
#define IS_STOPPED "grep -qx alone-0 $TREE/stopped && ! [ -e $TREE/build/test-run/ ]"

Test(run_tests, end_with_a_signal_and_begin_nothing_more)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    static const char *const programs[] = {UNIT, "build/release/tests/unit/y/run",
                                           "build/release/tests/unit/z/run", NULL};

    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
        int status;
        pid_t pid;

        must_do("rm -f $TREE/*.pid");
        make_program("unit/x", FOR_EVER);
        make_program("unit/y", FOR_EVER);
        make_program("unit/z", FOR_EVER);
        signal(signals[i], SIG_DFL);
        pid = start(programs, "[ -s $TREE/x.pid ] && [ -s $TREE/y.pid ]");
        kill(pid, signals[i]);
        cr_assert_eq(waitpid(pid, &status, 0), pid);
        cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 1, "%x", (unsigned)status);
        expect_said("given up");
        cr_expect_eq(shell(ARE_GONE), 0);
        cr_expect_eq(shell("[ ! -e $TREE/z.pid ]"), 0, "another was begun");
    }
}

/* As in `timeout make test-long`: make forwards a signal that the whole group has received. */
Test(run_tests, end_however_often_the_signal_comes)
{
    static const char *const programs[] = {UNIT, NULL};
    bool has_ended = false;
    int status = 0;
    pid_t pid;

    make_program("unit/x", FOR_EVER);
    signal(SIGTERM, SIG_DFL);
    pid = start(programs, "[ -s $TREE/x.pid ]");
    for (int i = 0; i < 1000; i++)
        kill(pid, SIGTERM);
    for (int i = 0; i < 3000 && !has_ended; i++) {
        poll(NULL, 0, 10);
        has_ended = waitpid(pid, &status, WNOHANG) == pid;
    }
    if (!has_ended)
        kill(pid, SIGKILL);
    cr_assert(has_ended, "it does not end");
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 1, "%x", (unsigned)status);
    cr_expect_eq(shell(ARE_GONE), 0);
}

/* The test program has started a separate stack, too. */
Test(run_tests, leave_no_stack_however_they_end)
{
    static const char *const programs[] = {"build/release/tests/integration/run", NULL};
    static const int signals[] = {SIGTERM, SIGKILL};

    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
        int status;
        pid_t pid;

        must_do("rm -f $TREE/*.pid $TREE/stopped");
        make_program("integration",
                     "mkdir $RUN_DIR-other; touch $RUN_DIR-other/lock; echo $$ >$TREE/x.pid;"
                     " sleep 1000");
        must_do("echo '/* stack_have_alone */' >>$TREE/tests/integration/x_test.c");
        pid = start(programs, "[ -s $TREE/x.pid ]");
        kill(pid, signals[i]);
        cr_assert_eq(waitpid(pid, &status, 0), pid);
        await(IS_STOPPED " && grep -qx alone-0-other $TREE/stopped");
        await(ARE_GONE);
    }
}

Test(run_tests, leave_a_run_of_the_same_tree_its_stacks)
{
    static const char *const programs[] = {"build/release/tests/integration/run", NULL};
    int status;
    pid_t pid;

    make_program("integration", FOR_EVER);
    must_do("echo '/* stack_have_alone */' >>$TREE/tests/integration/x_test.c");
    pid = start(programs, "[ -s $TREE/integration.pid ]");
    make_program("unit/x", CRITERION("2", "2", "0"));
    cr_expect_eq(shell("$TREE/tools/run-tests release " UNIT " 2>&1 | grep -q 'already running'"),
                 0);
    cr_expect_eq(shell("[ -e $TREE/build/test-run/alone-0/lock ] && [ ! -e $TREE/stopped ]"), 0);
    kill(pid, SIGTERM);
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_expect_eq(run_tests(UNIT), 0, "its turn has ended");
}
