/*
 * own_stack - a stack of a test's own, beside the one that `make test` gives it: as `make up` starts it.
 *
 * What     From own_stack_start() to own_stack_stop() it takes the place of the other one: the environment, and
 *          so stack_setting() and all that is built on it, is that of this stack.
 * Threads  The test's.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_OWN_STACK_H
#define TESTS_SUPPORT_OWN_STACK_H

/* `name` tells its folder from others; `settings` are lines NAME=VALUE, NULL at the end. */
void own_stack_start(const char *name, const char *const *settings);
void own_stack_stop(void);

/* The database of a cell other than main, for the administrator. */
const char *own_stack_database_url(const char *cell);
/* What the file of that name in the stack's folder says, without its last newline. */
const char *own_stack_read(const char *file);

#endif
