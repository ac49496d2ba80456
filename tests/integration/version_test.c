/* Everything that tells a version tells the one that all programs have in common. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/api.h"
#include "tests/support/http.h"
#include "tests/support/keep.h"
#include "tests/support/stack.h"

TestSuite(version, .init = api_open, .timeout = 60);

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

/* As NATS's service discovery wants it to be: semver.org's, without a part behind a +. */
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

/* The library has another one, for tests. */
Test(version, is_that_of_the_build)
{
    cr_assert_str_neq(VERSION, "0.0.0");
}

Test(version, is_in_the_metrics_of_every_process)
{
    const char *line = format("\nconversations_build_info{version=\"%s\",revision=\"", VERSION);
    FILE *ports = fopen(format("%s/ports", stack_setting("RUN_DIR")), "re");
    char name[64];
    int port, n = 0;

    cr_assert_not_null(ports);
    while (fscanf(ports, "%63s %d", name, &port) == 2) {
        if (strchr(name, '-') == NULL) /* a server of others, or where HTTP comes in */
            continue;
        const struct answer *answer =
            http_send(&(struct http_request){.method = "GET",
                                             .base = format("http://127.0.0.1:%d", port),
                                             .path = "/metrics",
                                             .skip_checks = true});

        cr_expect_not_null(strstr(answer->body, line), "%s: no %s", name, line);
        n++;
    }
    fclose(ports);
    cr_assert_geq(n, 7, "one a program at least");
}

/* The first line that a process of the stack has logged. */
static const char *first_line(const char *process)
{
    FILE *log = fopen(format("%s/log/%s.log", stack_setting("RUN_DIR"), process), "re");
    char *line = keep(calloc(1, 4096));

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
        format("\"message\":\"starting\",\"version\":\"%s\",\"revision\":\"", VERSION);

    for (size_t i = 0; i < sizeof(processes) / sizeof(processes[0]); i++)
        cr_expect_not_null(strstr(first_line(processes[i]), fields), "%s: %s", processes[i],
                           first_line(processes[i]));
    cr_expect_not_null(strstr(first_line("supervisor"), format("version %s, ", VERSION)));
}
