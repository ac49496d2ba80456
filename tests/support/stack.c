#include "tests/support/stack.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "tests/support/measure.h"
#include "tests/support/never_free.h"

enum {
    IN_FORCE_MS = 2000,
    SCALED_MAX_MS = 240 * 1000,
    ARGUMENTS_MAX = 32,
    OUTPUT_MAX = 4 << 20,
    WAITS_MS = 30000,
};

const char *stack_setting(const char *name)
{
    const char *value = getenv(name);

    cr_assert(value != NULL && value[0] != '\0',
              "%s is not set: run these tests with `make test`, or source $RUN_DIR/env first",
              name);
    return value;
}

static int port_in(const char *url_setting)
{
    const char *colon = strrchr(stack_setting(url_setting), ':');

    cr_assert_not_null(colon);
    return atoi(colon + 1);
}

int stack_gateway_port(void)
{
    return port_in("BASE_URL");
}

int stack_dashboard_port(void)
{
    return port_in("DASHBOARD_URL");
}

static void take_lock(int kind)
{
    static int fd = -1;
    char path[4096];

    snprintf(path, sizeof(path), "%s/tests.lock", stack_setting("RUN_DIR"));
    if (fd < 0)
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    cr_assert_geq(fd, 0, "%s: %s", path, strerror(errno));
    while (flock(fd, kind) != 0)
        cr_assert_eq(errno, EINTR);
}

void stack_share(void)
{
    take_lock(LOCK_SH);
}

void stack_have_alone(void)
{
    take_lock(LOCK_EX);
}

/* -- convctl ------------------------------------------------------------------------------------
 */

static void read_all(int fd, char *text, size_t capacity)
{
    size_t n = 0;
    ssize_t got;

    while ((got = read(fd, text + n, capacity - 1 - n)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        cr_assert_gt(got, 0, "reading from convctl: %s", strerror(errno));
        n += (size_t)got;
        cr_assert_lt(n, capacity - 1, "convctl printed too much");
    }
    text[n] = '\0';
    close(fd);
}

/* The exit status; stdout and stderr go to the two texts. The second must be short enough for a
   pipe. fork() would copy the page tables of a process with hundreds of threads, which then fault on
   each page that they write: for hours of load, a few hundred milliseconds each time. */
static int run(char *const *arguments, char *output, size_t capacity, char *complaint,
               size_t complaint_capacity)
{
    posix_spawn_file_actions_t files;
    int out[2], err[2], status;
    pid_t pid;

    cr_assert_eq(pipe2(out, O_CLOEXEC), 0);
    cr_assert_eq(pipe2(err, O_CLOEXEC), 0);
    cr_assert_eq(posix_spawn_file_actions_init(&files), 0);
    cr_assert_eq(posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO), 0);
    cr_assert_eq(posix_spawn_file_actions_adddup2(&files, err[1], STDERR_FILENO), 0);
    cr_assert_eq(posix_spawn(&pid, arguments[0], &files, NULL, arguments, environ), 0, "%s",
                 arguments[0]);
    posix_spawn_file_actions_destroy(&files);
    close(out[1]);
    close(err[1]);
    read_all(out[0], output, capacity);
    read_all(err[0], complaint, complaint_capacity);
    while (waitpid(pid, &status, 0) < 0)
        cr_assert_eq(errno, EINTR);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

const char *stack_program(const char *name)
{
    const char *directory = getenv("BIN_DIR");
    char *path;

    cr_assert(asprintf(&path, "%s/%s", directory != NULL ? directory : "build/bin", name) > 0);
    return never_free(path);
}

static int run_convctl(const char *first, va_list rest, char *output, char *complaint,
                       size_t complaint_capacity)
{
    char *arguments[ARGUMENTS_MAX + 1];
    size_t n = 0;

    arguments[n++] = (char *)stack_program("convctl");
    for (const char *a = first; a != NULL; a = va_arg(rest, const char *)) {
        cr_assert_lt(n, ARGUMENTS_MAX);
        arguments[n++] = (char *)a;
    }
    arguments[n] = NULL;
    return run(arguments, output, OUTPUT_MAX, complaint, complaint_capacity);
}

/* A service that a test has just restarted may not take commands yet. */
static bool was_too_early(const char *complaint)
{
    return strstr(complaint, "no service replied; nothing was done") != NULL;
}

json_t *convctl(const char *first, ...)
{
    const int64_t until_us = clock_mono_us() + ABSENCE_US;
    char *output = malloc(OUTPUT_MAX), complaint[4096];
    json_error_t error;
    json_t *value;
    va_list rest;
    int exit_status;

    do {
        va_start(rest, first);
        exit_status = run_convctl(first, rest, output, complaint, sizeof(complaint));
        va_end(rest);
    } while (exit_status == 1 && was_too_early(complaint) && clock_mono_us() < until_us);
    cr_assert_eq(exit_status, 0, "convctl %s ended with %d: %s", first, exit_status, complaint);
    value = json_loads(output, JSON_DECODE_ANY, &error);
    cr_assert_not_null(value, "convctl %s printed no JSON: %s", first, output);
    free(output);
    return value;
}

json_t *convctl_if_possible(const char *first, ...)
{
    char *output = malloc(OUTPUT_MAX), complaint[4096];
    json_t *value = NULL;
    va_list rest;

    va_start(rest, first);
    if (run_convctl(first, rest, output, complaint, sizeof(complaint)) == 0)
        value = json_loads(output, JSON_DECODE_ANY, NULL);
    va_end(rest);
    free(output);
    return value;
}

bool convctl_succeeds(const char *first, ...)
{
    char *output = malloc(OUTPUT_MAX), complaint[4096];
    va_list rest;
    int exit_status;

    va_start(rest, first);
    exit_status = run_convctl(first, rest, output, complaint, sizeof(complaint));
    va_end(rest);
    free(output);
    return exit_status == 0;
}

/* The exit status; `error` is the member "error" of the output, or NULL. */
static int run_failing(const char *first, va_list rest, json_t **error)
{
    char *output = malloc(OUTPUT_MAX), complaint[4096];
    const int exit_status = run_convctl(first, rest, output, complaint, sizeof(complaint));
    json_t *value;

    cr_assert_neq(exit_status, 0, "convctl %s should have failed: %s", first, output);
    cr_assert_str_eq(output, "", "convctl %s failed and printed a result", first);
    free(output);
    value = json_loads(complaint, 0, NULL);
    *error = json_incref(json_object_get(value, "error"));
    json_decref(value);
    cr_assert(exit_status != 1 || json_object_get(*error, "code") != NULL,
              "convctl %s failed without a code: %s", first, complaint);
    return exit_status;
}

int convctl_fails(char code[64], const char *first, ...)
{
    const char *found;
    json_t *error;
    va_list rest;
    int exit_status;

    va_start(rest, first);
    exit_status = run_failing(first, rest, &error);
    va_end(rest);
    found = json_string_value(json_object_get(error, "code"));
    snprintf(code, 64, "%s", found != NULL ? found : "");
    json_decref(error);
    return exit_status;
}

const char *convctl_complaint(const char *first, ...)
{
    const char *found;
    json_t *error;
    va_list rest;

    va_start(rest, first);
    (void)run_failing(first, rest, &error);
    va_end(rest);
    found = json_string_value(json_object_get(error, "message"));
    cr_assert_not_null(found);
    found = never_free(strdup(found));
    json_decref(error);
    return found;
}

const char *stack_version_of(const char *program)
{
    char option[] = "--version", output[256], complaint[4096];
    char *const arguments[] = {(char *)stack_program(program), option, NULL};
    size_t n;

    cr_assert_eq(run(arguments, output, sizeof(output), complaint, sizeof(complaint)), 0,
                 "%s --version: %s", program, complaint);
    n = strlen(output);
    cr_assert(n > 1 && output[n - 1] == '\n', "%s --version: %s", program, output);
    output[n - 1] = '\0';
    return never_free(strdup(output));
}

/* -- processes ----------------------------------------------------------------------------------
 */

pid_t stack_pid(const char *name)
{
    char path[4096];
    FILE *file;
    int pid = 0;

    snprintf(path, sizeof(path), "%s/pids/%s", stack_setting("RUN_DIR"), name);
    file = fopen(path, "re");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%d", &pid) != 1)
        pid = 0;
    fclose(file);
    return pid;
}

const char *stack_setting_of(const char *process, const char *name)
{
    static char text[65536];
    const size_t length = strlen(name);
    char path[64];
    FILE *file;
    size_t n;

    snprintf(path, sizeof(path), "/proc/%d/environ", (int)stack_pid(process));
    file = fopen(path, "re");
    cr_assert_not_null(file, "%s", path);
    n = fread(text, 1, sizeof(text) - 1, file);
    text[n] = '\0';
    fclose(file);
    for (const char *at = text; at < text + n; at += strlen(at) + 1)
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return at + length + 1;
    cr_assert_fail("%s has no %s", process, name);
    return NULL;
}

void stack_signal(const char *name, int signal)
{
    pid_t pid = stack_pid(name);

    cr_assert_gt(pid, 1, "no process %s", name);
    cr_assert_eq(kill(pid, signal), 0, "%s (%d): %s", name, (int)pid, strerror(errno));
}

struct restart {
    const char *name;
    pid_t before;
};

static bool is_another(void *closure)
{
    const struct restart *const it = closure;
    const pid_t pid = stack_pid(it->name);

    return pid > 1 && pid != it->before && kill(pid, 0) == 0;
}

void stack_await_again(const char *name, pid_t before)
{
    struct restart it = {name, before};

    cr_assert(stack_wait(is_another, &it, WAITS_MS), "%s was not started again", name);
}

void stack_end(const char *name, int signal)
{
    const pid_t before = stack_pid(name);

    stack_signal(name, signal);
    stack_await_again(name, before);
}

static bool thread_stands(pid_t pid, const char *thread)
{
    char path[64], state = 'T';
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/task/%.16s/stat", (int)pid, thread);
    file = fopen(path, "re");
    if (file == NULL)
        return true; /* it has ended */
    if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
        state = '?';
    fclose(file);
    return state == 'T';
}

static bool all_threads_stand(void *closure)
{
    const pid_t pid = *(const pid_t *)closure;
    const struct dirent *thread;
    bool stand = true;
    char path[64];
    DIR *threads;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    threads = opendir(path);
    cr_assert_not_null(threads, "%s: %s", path, strerror(errno));
    while (stand && (thread = readdir(threads)) != NULL)
        stand = thread->d_name[0] == '.' || thread_stands(pid, thread->d_name);
    closedir(threads);
    return stand;
}

void stack_halt(const char *name)
{
    pid_t pid = stack_pid(name);

    stack_signal(name, SIGSTOP);
    cr_assert(stack_wait(all_threads_stand, &pid, 5000), "%s does not stop", name);
}

static bool wait_for(bool (*holds)(void *closure), void *closure, int64_t timeout_ms)
{
    const int64_t until_us = clock_mono_us() + timeout_ms * 1000;

    while (!holds(closure)) {
        if (clock_mono_us() > until_us)
            return false;
        poll(NULL, 0, 5);
    }
    return true;
}

bool stack_wait(bool (*holds)(void *closure), void *closure, int timeout_ms)
{
    const int64_t scaled_ms = limit_scaled(timeout_ms);
    const int64_t max_ms = timeout_ms > SCALED_MAX_MS ? timeout_ms : SCALED_MAX_MS;

    return wait_for(holds, closure, scaled_ms < max_ms ? scaled_ms : max_ms);
}

bool stack_wait_in_force(bool (*holds)(void *closure), void *closure)
{
    return wait_for(holds, closure, IN_FORCE_MS);
}

void stack_let_run(int64_t ms)
{
    const int64_t until_us = clock_mono_us() + ms * 1000;

    for (int64_t left_us = ms * 1000; left_us > 0; left_us = until_us - clock_mono_us())
        poll(NULL, 0, (int)(left_us / 1000) + 1);
}
