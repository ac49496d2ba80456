/*
 * stack - the running service under test.
 *
 * What     Its addresses and keys (as $RUN_DIR/env exports them), its operator's command convctl,
 *          its processes. A test that disturbs the stack has it alone: stack_share() and
 *          stack_have_alone() take a lock on $RUN_DIR, shared or not, until the test's process
 *          ends.
 * Threads  Any; take the lock before there are several.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_STACK_H
#define TESTS_SUPPORT_STACK_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

const char *stack_setting(const char *name); /* an environment variable that must be there */
int stack_gateway_port(void);
int stack_dashboard_port(void);

void stack_share(void);
void stack_have_alone(void);

/* How long a service may be absent: one that starts again comes back before. */
enum { ABSENCE_US = 10 * 1000 * 1000 };

/* Runs convctl with these arguments (the last one NULL); returns what it printed. Where no service
   answers, and so nothing was done, it runs again for some seconds. */
json_t *convctl(const char *first, ...) __attribute__((sentinel));
/* The same, once, where it may fail: then NULL. */
json_t *convctl_if_possible(const char *first, ...) __attribute__((sentinel));
bool convctl_succeeds(const char *first, ...) __attribute__((sentinel));
/* The same, expecting it to fail: its exit status, and the error code in `code`. */
int convctl_fails(char code[64], const char *first, ...) __attribute__((sentinel));
/* The same: its message, good as long as the test. */
const char *convctl_complaint(const char *first, ...) __attribute__((sentinel));

/* What a program says with --version; good as long as the test. */
const char *stack_version_of(const char *program);

/* A process by its name in $RUN_DIR/pids: "conversation-0"; 0 = it is not there. */
pid_t stack_pid(const char *name);
/* A setting of a process, such as its AUDIT_SIGNING_KEY, which must be there; good until the next
   one is asked for. */
const char *stack_setting_of(const char *process, const char *name);
void stack_signal(const char *name, int signal);
/* Waits until the supervisor has started a process again that was `before`. */
void stack_await_again(const char *name, pid_t before);
/* A signal that ends it, and that wait. */
void stack_end(const char *name, int signal);
/* SIGSTOP, which takes effect one thread after the other: returns when all of them stand. */
void stack_halt(const char *name);

/* Waits until a condition holds, looking every few milliseconds; false when the time is over. */
bool stack_wait(bool (*holds)(void *closure), void *closure, int timeout_ms);
/* Lets whatever is under way go on for so long. */
void stack_let_run(int64_t ms);

#endif
