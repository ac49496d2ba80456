/*
 * process_tree - a program and all that it starts, daemons too: signalled and ended together.
 *
 * Owns     A process that has no other purpose: orphans of the tree become its children. When it
 *          ends, or the test does, nothing of the tree is left.
 * Threads  The test's main thread.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_PROCESS_TREE_H
#define TESTS_SUPPORT_PROCESS_TREE_H

#include <stdbool.h>
#include <sys/types.h>

struct process_tree {
    pid_t guard; /* 0 while nothing runs */
};

/* `args`: a path and arguments; `environment`: "NAME=VALUE"; both end with NULL. `log`: a file that
   its output is appended to. With `as_postgres` it has the rights of the user postgres, if we are
   root. Its working directory is "/". */
void process_tree_start(struct process_tree *tree, const char *const *args,
                        const char *const *environment, const char *log, bool as_postgres);
/* SIGKILL to all of it; returns when all have ended. */
void process_tree_kill(struct process_tree *tree);
/* SIGKILL to those of them that are called so; the others go on. */
void process_tree_kill_named(const struct process_tree *tree, const char *name);
/* SIGSTOP to all of it; returns when all stand. And SIGCONT. */
void process_tree_halt(const struct process_tree *tree);
void process_tree_resume(const struct process_tree *tree);

#endif
