/*
 * stack - the running service under test.
 *
 * What     Its addresses and keys (as $RUN_DIR/env exports them), its operator's command convctl,
 *          and its processes. A test that disturbs the stack must have it alone: stack_share() and
 *          stack_have_alone() take a lock on $RUN_DIR, shared or exclusive, until the test's
 *          process ends.
 * Threads  Any; take the lock before starting threads.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_STACK_H
#define TESTS_SUPPORT_STACK_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

const char *stack_setting(const char *name); /* an environment variable that must be set */
int stack_gateway_port(void);
int stack_dashboard_port(void);

void stack_share(void);
void stack_have_alone(void);

/* The longest absence of a service: one that restarts is back sooner. */
enum { ABSENCE_US = 10 * 1000 * 1000 };

/* Runs convctl with these arguments (ended by NULL); returns what it printed. If no service
   replied, so that nothing was done, it retries for some seconds. */
json_t *convctl(const char *first, ...) __attribute__((sentinel));
/* The same, once; NULL if it fails. */
json_t *convctl_if_possible(const char *first, ...) __attribute__((sentinel));
bool convctl_succeeds(const char *first, ...) __attribute__((sentinel));
/* The same, expecting it to fail: returns its exit status, and the error code in `code`. */
int convctl_fails(char code[64], const char *first, ...) __attribute__((sentinel));
/* The same: returns its message, valid until the test ends. */
const char *convctl_complaint(const char *first, ...) __attribute__((sentinel));

/* The path of a program, from $BIN_DIR; valid until the test ends. */
const char *stack_program(const char *name);
/* The output of a program's --version; valid until the test ends. */
const char *stack_version_of(const char *program);

/* A process by its name in $RUN_DIR/pids: "conversation-0"; 0 = not running. */
pid_t stack_pid(const char *name);
/* A setting of a process, such as its AUDIT_SIGNING_KEY, which must be set; valid until the next
   call. */
const char *stack_setting_of(const char *process, const char *name);
void stack_signal(const char *name, int signal);
/* Waits until the supervisor has restarted the process that had the pid `before`. */
void stack_await_again(const char *name, pid_t before);
/* Sends a signal that ends it, and waits for the restart. */
void stack_end(const char *name, int signal);
/* SIGSTOP, which stops one thread after the other: returns once all of them have stopped. */
void stack_halt(const char *name);

/* Polls a condition every few milliseconds until it holds; false on timeout. The timeout is scaled
   (measure.h), but not beyond four minutes: the test's own limit is to come later. */
bool stack_wait(bool (*holds)(void *closure), void *closure, int timeout_ms);
/* The same for the effect of an operator's change, which is announced by a notice: waits for two
   seconds, not scaled. A gateway that misses the notice asks access about a key again only three
   seconds after it last did. So if a key was looked up right before a change, and the change is in
   force sooner than that, the gateway has received the notice. */
bool stack_wait_in_force(bool (*holds)(void *closure), void *closure);
/* Lets whatever is in progress run for that long. */
void stack_let_run(int64_t ms);

#endif
