/*
 * check_tree - a tree of the test's own, and the result of a check of tools/ on it. Header-only.
 */
#ifndef TESTS_UNIT_TOOLS_CHECK_TREE_H
#define TESTS_UNIT_TOOLS_CHECK_TREE_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static char root[32];
static char output[4096]; /* of the latest command */

static inline int shell(const char *command)
{
    int status = system(command);

    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static inline void open_tree(void)
{
    strcpy(root, "/tmp/check-tree.XXXXXX");
    cr_assert_not_null(mkdtemp(root));
}

static inline void remove_tree(void)
{
    char command[64];

    snprintf(command, sizeof(command), "rm -rf %s", root);
    cr_assert_eq(shell(command), 0);
}

/* Creates the file's folders, too. */
static inline void write_file(const char *path, const char *text)
{
    char command[256], full[160];
    FILE *file;

    snprintf(full, sizeof(full), "%s/%s", root, path);
    snprintf(command, sizeof(command), "mkdir -p \"$(dirname %s)\"", full);
    cr_assert_eq(shell(command), 0);
    file = fopen(full, "w");
    cr_assert(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* The exit status of a command; its output on both streams is in `output`. */
static inline int run_command(const char *command)
{
    char text[256];
    FILE *file;
    int status;

    snprintf(text, sizeof(text), "{ %s; } >%s/out 2>&1", command, root);
    status = shell(text);
    snprintf(text, sizeof(text), "%s/out", root);
    file = fopen(text, "r");
    cr_assert_not_null(file);
    output[fread(output, 1, sizeof(output) - 1, file)] = '\0';
    fclose(file);
    return status;
}

/* The same of tools/NAME over the tree. */
static inline int run_check(const char *name)
{
    char command[160];

    snprintf(command, sizeof(command), "tools/%s %s", name, root);
    return run_command(command);
}

#endif
