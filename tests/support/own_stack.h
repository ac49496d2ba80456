/*
 * own_stack - a test's own stack, beside the one that `make test` provides: started as by `make
 * up`.
 *
 * What     From own_stack_start() to own_stack_stop() it replaces the other one: the environment is
 *          that of this stack, and so stack_setting() and everything built on it refers to it.
 * Threads  The test's.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_OWN_STACK_H
#define TESTS_SUPPORT_OWN_STACK_H

/* `name` distinguishes its folder; `settings` are lines NAME=VALUE, ended by NULL. */
void own_stack_start(const char *name, const char *const *settings);
void own_stack_stop(void);

/* The database of a cell other than main, as its administrator. */
const char *own_stack_database_url(const char *cell);
/* The content of a file in the stack's folder, without its last newline. */
const char *own_stack_read(const char *file);

#endif
