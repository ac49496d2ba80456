/* Every place that reports a version reports the one that all programs share. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "tests/support/api_client.h"
#include "tests/support/http_client.h"
#include "tests/support/never_free.h"
#include "tests/support/replica.h"
#include "tests/support/stack.h"

TestSuite(version, .init = stack_share);

#define VERSION stack_version_of("convctl")

Test(version, is_one_for_all_programs)
{
    DIR *folder = opendir(stack_setting("BIN_DIR"));
    const struct dirent *entry;
    int n = 0;

    cr_assert_not_null(folder);
    while ((entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        cr_expect_str_eq(stack_version_of(entry->d_name), VERSION, "%s", entry->d_name);
        n++;
    }
    closedir(folder);
    cr_assert_geq(n, 12);
}

/* The form that NATS's service discovery requires: semver.org's, without build metadata (+...). */
Test(version, is_semantic)
{
    static const char pattern[] = "^(0|[1-9][0-9]*)(\\.(0|[1-9][0-9]*)){2}"
                                  "(-(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
                                  "(\\.(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*)?$";
    regex_t regex;

    cr_assert_eq(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
    cr_expect_eq(regexec(&regex, VERSION, 0, NULL, 0), 0, "%s", VERSION);
    regfree(&regex);
}

/* The library has 0.0.0, for unit tests. */
Test(version, is_that_of_the_build)
{
    cr_assert_str_neq(VERSION, "0.0.0");
}

Test(version, is_in_the_metrics_of_every_process)
{
    const char *line = format("\nconversations_build_info{version=\"%s\",revision=\"", VERSION);
    struct replica replicas[REPLICAS_OF_STACK_MAX];
    const size_t n = replicas_of_stack(replicas);

    for (size_t i = 0; i < n; i++)
        cr_expect_not_null(strstr(replica_metrics(&replicas[i]), line), "%s: no %s",
                           replicas[i].name, line);
}

/* The first line that a process of the stack has logged. */
static const char *first_line(const char *process)
{
    FILE *log = fopen(format("%s/log/%s.log", stack_setting("RUN_DIR"), process), "re");
    char *line = never_free(calloc(1, 4096));

    cr_assert(log != NULL && line != NULL, "%s", process);
    cr_assert_not_null(fgets(line, 4096, log), "%s has logged nothing", process);
    fclose(log);
    return line;
}

Test(version, is_in_the_first_line_of_every_log)
{
    static const char *const processes[] = {"gateway-0", "dashboard-0",   "access-0",
                                            "search-0",  "audit-0",       "webhook-0",
                                            "migrate",   "conversation-0"};
    const char *fields =
        format("\"version\":\"%s\",\"message\":\"starting\",\"revision\":\"", VERSION);

    for (size_t i = 0; i < ARRAY_SIZE(processes); i++)
        cr_expect_not_null(strstr(first_line(processes[i]), fields), "%s: %s", processes[i],
                           first_line(processes[i]));
    cr_expect_not_null(strstr(first_line("supervisor"), format("version %s, ", VERSION)));
}
