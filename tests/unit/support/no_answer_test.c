#include "tests/support/no_answer.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(no_answer);

#define URL "http://127.0.0.1:29001/api/v1"

enum { PORT = 29001, LINES = 500 };

static char log_path[] = "/tmp/no-answer-test-XXXXXX";

static void write_log(void)
{
    FILE *const file = fdopen(mkstemp(log_path), "w");

    cr_assert_not_null(file);
    for (int i = 1; i <= LINES; i++)
        fprintf(file, "line %d of the log\n", i);
    fclose(file);
}

static pid_t begin_process(void)
{
    const pid_t pid = fork();

    cr_assert_geq(pid, 0);
    if (pid == 0)
        pause();
    return pid;
}

static void expect_told(const char *url, const char *what)
{
    const char *const told = no_answer_from(url);

    cr_expect_not_null(strstr(told, what), "%s is not in: %s", what, told);
}

Test(no_answer, tells_whether_the_process_lives_or_how_it_ended_and_the_end_of_its_log)
{
    const pid_t pid = begin_process();
    siginfo_t end;

    write_log();
    no_answer_note(PORT, pid, log_path);
    expect_told(URL, ", lives; ");
    cr_assert_eq(kill(pid, SIGABRT), 0);
    cr_assert_eq(waitid(P_PID, (id_t)pid, &end, WEXITED | WNOWAIT), 0);
    expect_told(URL, ", has ended, signal 6; ");
    expect_told(URL, "ends with\nline ");
    expect_told(URL, "\nline 500 of the log\n");
    cr_expect_null(strstr(no_answer_from(URL), "\nline 1 of"), "the end, not the whole");
    cr_expect_eq(waitpid(pid, NULL, 0), pid, "it is left to be waited for");
    expect_told(URL, ", does not live; ");
    unlink(log_path);
}

Test(no_answer, tells_nothing_of_a_process_that_is_not_known)
{
    unsetenv("RUN_DIR");
    cr_expect_str_eq(no_answer_from(URL), "");
    cr_expect_str_eq(no_answer_from("http://127.0.0.1"), "");
}
