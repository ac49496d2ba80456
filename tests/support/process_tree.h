/*
 * process_tree - a program and everything that it starts, daemons too: signalled and ended
 * together.
 *
 * Owns     A guard process that becomes the parent of the tree's orphans. When the guard ends, or
 *          the test does, the whole tree ends.
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

/* `args`: a path and arguments; `environment`: "NAME=VALUE"; both end with NULL. `log`: a file to
   which its output is appended. With `as_postgres` it runs as the user postgres, if we are root.
   Its working directory is "/". */
void process_tree_start(struct process_tree *tree, const char *const *args,
                        const char *const *environment, const char *log, bool as_postgres);
/* SIGKILL to the whole tree; returns once all processes have ended. */
void process_tree_kill(struct process_tree *tree);
/* SIGKILL to the processes of that name; the others keep running. */
void process_tree_kill_named(const struct process_tree *tree, const char *name);
/* SIGSTOP to the whole tree; returns once all processes have stopped. And SIGCONT. */
void process_tree_halt(const struct process_tree *tree);
void process_tree_resume(const struct process_tree *tree);

#endif
