/* tools/check-tour finds files that no walk names, and names of files that are gone. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define WALK   "## One create, file by file\n\n1. `common/bus/bus.c` sends.\n\n"
#define BESIDE "## Beside these ways\n\n`common/bus/link.c`.\n\n## Callbacks\n\n`common/bus/x.c`\n"

static char output[4096];

static int shell(const char *command)
{
    int status = system(command);

    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The exit status of the check over a page and these files; its output is in `output`. */
static int check(const char *page, const char *files)
{
    char root[] = "/tmp/check-tour.XXXXXX", command[512], path[64];
    FILE *file;
    int status;

    cr_assert(mkdtemp(root) != NULL);
    snprintf(command, sizeof(command), "cd %s && mkdir -p docs common/bus && touch %s", root,
             files);
    cr_assert(shell(command) == 0);
    snprintf(path, sizeof(path), "%s/docs/architecture.md", root);
    file = fopen(path, "w");
    cr_assert(file != NULL && fputs(page, file) >= 0 && fclose(file) == 0);
    snprintf(command, sizeof(command), "tools/check-tour %s >%s/out 2>&1", root, root);
    status = shell(command);
    snprintf(path, sizeof(path), "%s/out", root);
    file = fopen(path, "r");
    cr_assert(file != NULL);
    output[fread(output, 1, sizeof(output) - 1, file)] = '\0';
    (void)fclose(file);
    snprintf(command, sizeof(command), "rm -rf %s", root);
    cr_assert(shell(command) == 0);
    return status;
}

Test(check_tour, passes_if_each_file_is_named_at_least_once)
{
    cr_expect_eq(check(WALK BESIDE, "common/bus/bus.c common/bus/link.c"), 0, "%s", output);
    cr_expect_not_null(strstr(output, "One create, file by file: 1 source files"), "%s", output);
}

Test(check_tour, finds_a_file_that_no_walk_names)
{
    cr_expect_eq(check(WALK BESIDE, "common/bus/bus.c common/bus/link.c common/bus/x.c"), 1);
    cr_expect_not_null(strstr(output, "no walk names common/bus/x.c"), "%s", output);
}

Test(check_tour, finds_the_name_of_a_file_that_is_gone)
{
    cr_expect_eq(check(WALK BESIDE, "common/bus/bus.c"), 1);
    cr_expect_not_null(strstr(output, "names common/bus/link.c, which does not exist"), "%s",
                       output);
}

Test(check_tour, wants_a_walk)
{
    cr_expect_eq(check("## Callbacks\n", "common/bus/bus.c"), 1);
    cr_expect_not_null(strstr(output, "has no walk file by file"), "%s", output);
}
