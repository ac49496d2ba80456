#include "common/base/log_writer.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/log.h"

enum { MANY = 20000, THREADS = 4, SOME = 100 };

static int ends[2];

static void log_into(int fd)
{
    cr_assert_geq(dup2(fd, STDERR_FILENO), 0);
    log_open("testing", NULL, NULL, LOG_INFO);
    log_writer_start();
}

static void open_pipe(void)
{
    cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
}

/* Reads lines until one holds `last`, or to the end when that is NULL, and checks each. */
struct seen {
    long long n, lost; /* lines without the one about lost lines; its number */
    long long latest;  /* "number" of the latest line that had one */
    bool is_in_order;
};

static long long number_in(const char *line, const char *name)
{
    const char *at = strstr(line, name);

    return at != NULL ? strtoll(at + strlen(name), NULL, 10) : -1;
}

static void look_at(struct seen *seen, const char *line)
{
    const long long number = number_in(line, "\"number\":");

    cr_assert_eq(strncmp(line, "{\"time\":", 8), 0, "%s", line);
    cr_assert(strlen(line) > 2 && strcmp(line + strlen(line) - 2, "}\n") == 0, "%s", line);
    if (strstr(line, "\"message\":\"log lines were lost\"") != NULL) {
        seen->lost += number_in(line, "\"lines\":");
        return;
    }
    seen->n++;
    if (number >= 0) {
        seen->is_in_order = seen->is_in_order && number > seen->latest;
        seen->latest = number;
    }
}

static struct seen read_until(const char *last)
{
    struct seen seen = {.latest = -1, .is_in_order = true};
    FILE *from = fdopen(dup(ends[0]), "r");
    char line[2 * LOG_LINE_MAX];

    cr_assert_not_null(from);
    while (fgets(line, sizeof(line), from) != NULL) {
        look_at(&seen, line);
        if (last != NULL && strstr(line, last) != NULL)
            break;
    }
    fclose(from);
    return seen;
}

static void log_numbers(int n)
{
    for (int i = 0; i < n; i++)
        LOG(LOG_INFO, "one of many", log_int("number", i));
}

Test(log_writer, logging_does_not_wait_for_the_reader_and_lost_lines_are_reported)
{
    struct seen seen;

    open_pipe();
    log_into(ends[1]);
    log_numbers(MANY);
    cr_assert_gt(log_dropped(), 0);
    seen = read_until("log lines were lost");
    cr_assert_gt(seen.n, 0);
    cr_assert(seen.is_in_order);
    cr_assert_eq(seen.n + seen.lost, MANY, "%lld + %lld", seen.n, seen.lost);
    cr_assert_eq((long long)log_dropped(), seen.lost);
}

static void *log_some(void *unused)
{
    log_numbers(SOME);
    return NULL;
}

Test(log_writer, lines_of_several_threads_stay_whole)
{
    pthread_t threads[THREADS];
    struct seen seen;

    open_pipe();
    log_into(ends[1]);
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, log_some, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
    LOG(LOG_WARNING, "the last one");
    seen = read_until("the last one");
    cr_assert_eq(seen.n, THREADS * SOME + 1);
    cr_assert_eq(seen.lost, 0);
}

Test(log_writer, counts_lost_lines_and_logs_the_count_once_it_can)
{
    struct seen seen;

    open_pipe();
    log_into(ends[1]);
    (void)signal(SIGPIPE, SIG_IGN);
    close(STDERR_FILENO);
    LOG(LOG_ERROR, "lost");
    while (log_dropped() == 0)
        ;
    cr_assert_geq(dup2(ends[1], STDERR_FILENO), 0);
    LOG(LOG_ERROR, "kept");
    seen = read_until("log lines were lost");
    cr_assert_eq(seen.n, 1);
    cr_assert_eq(seen.lost, 1);
}

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>

static bool is_apart;

/* After a fork, LeakSanitizer mistakes its own thread for another's. */
int __lsan_is_turned_off(void)
{
    return is_apart;
}
#else
static bool is_apart;
#endif

/* Runs `end` in a separate process that logs into the pipe; returns its wait status. */
static int run_apart(void (*end)(void))
{
    pid_t pid = fork();
    int status;

    cr_assert_geq(pid, 0);
    if (pid == 0) {
        is_apart = true;
        (void)signal(SIGSEGV, SIG_DFL); /* a sanitizer has its own */
        log_into(ends[1]);
        close(ends[1]);
        end();
        exit(0);
    }
    close(ends[1]);
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    return status;
}

static void log_some_and_end(void)
{
    log_numbers(SOME);
}

Test(log_writer, writes_waiting_lines_when_the_process_ends)
{
    open_pipe();
    cr_assert_eq(run_apart(log_some_and_end), 0);
    cr_assert_eq(read_until(NULL).n, SOME);
}

static void log_many_and_end(void)
{
    log_numbers(MANY);
}

Test(log_writer, who_does_not_read_does_not_keep_a_process_from_ending)
{
    struct seen seen;

    open_pipe();
    cr_assert_eq(run_apart(log_many_and_end), 0);
    seen = read_until(NULL);
    cr_assert(seen.n > 0 && seen.n < MANY, "%lld", seen.n);
    cr_assert(seen.is_in_order);
}

static void break_an_invariant(void)
{
    log_numbers(SOME);
    must(1 + 1 == 3);
}

Test(log_writer, a_broken_invariant_is_still_logged)
{
    int status;

    open_pipe();
    status = run_apart(break_an_invariant);
    cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "%x", status);
    cr_assert_eq(read_until("\"message\":\"broken invariant\"").n, SOME + 1);
}

static void break_an_invariant_unread(void)
{
    log_numbers(MANY);
    must(1 + 1 == 3);
}

Test(log_writer, who_does_not_read_does_not_keep_a_mistake_from_ending_a_process)
{
    int status;

    open_pipe();
    status = run_apart(break_an_invariant_unread);
    cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "%x", status);
}

static void crash(void)
{
    log_numbers(SOME);
    (void)raise(SIGSEGV);
}

Test(log_writer, lines_from_before_a_crash_are_written)
{
    int status;

    open_pipe();
    status = run_apart(crash);
    cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, "%x", status);
    cr_assert_eq(read_until(NULL).n, SOME);
}

/* -- a crash within the C library -------------------------------------------------------------- */

static char zone_path[64];
static pthread_t crashing;

/* Opening one end waits until the other is open. */
static void *crash_when_it_reads_the_zone(void *unused)
{
    cr_assert_geq(open(zone_path, O_WRONLY | O_CLOEXEC), 0);
    cr_assert_eq(pthread_kill(crashing, SIGSEGV), 0);
    return NULL;
}

/* While tzset() reads a file, it holds the lock that every time conversion takes. */
static void crash_while_the_zone_is_locked(void)
{
    pthread_t thread;
    int kept = dup(STDERR_FILENO);

    (void)alarm(20);
    close(STDERR_FILENO);
    LOG(LOG_ERROR, "lost");
    while (log_dropped() == 0)
        ;
    cr_assert_eq(dup2(kept, STDERR_FILENO), STDERR_FILENO);
    crashing = pthread_self();
    cr_assert_eq(setenv("TZ", zone_path, 1), 0);
    cr_assert_eq(pthread_create(&thread, NULL, crash_when_it_reads_the_zone, NULL), 0);
    tzset();
}

Test(log_writer, a_crash_ends_the_process_whatever_lock_is_held)
{
    int status;

    snprintf(zone_path, sizeof(zone_path), "/tmp/log-writer-test-%d", (int)getpid());
    cr_assert_eq(mkfifo(zone_path, 0600), 0);
    open_pipe();
    status = run_apart(crash_while_the_zone_is_locked);
    unlink(zone_path);
    cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, "%x", status);
}
