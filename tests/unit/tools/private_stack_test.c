/* Tools with a private stack do not pass it what the operator has set for another one. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"

static char root[] = "/tmp/private-stack.XXXXXX";

static void shell(const char *command)
{
    cr_assert_eq(system(command), 0, "%s", command);
}

/* A tree with the tools, whose stack records its environment instead of starting. */
static void make_tree(void)
{
    static const char stack[] = "#!/bin/sh\n"
                                "[ \"$1\" != up ] || { env >\"$TREE/seen\"; exit 1; }\n"
                                "exec \"$HERE/deploy/local/stack\" \"$@\"\n";

    cr_assert_not_null(mkdtemp(root));
    cr_assert_eq(setenv("TREE", root, 1), 0);
    cr_assert_eq(setenv("STACK", stack, 1), 0);
    shell("cd $TREE && mkdir -p deploy/local tests/integration build/release docs");
    shell("cp -r tools $TREE && cp -r tests/support $TREE/tests");
    shell("ln -s \"$(realpath \"${BIN_DIR:-build/bin}\")\" $TREE/build/release/bin");
    shell("printf %s \"$STACK\" >$TREE/deploy/local/stack && chmod +x $TREE/deploy/local/stack");
    shell("mkdir -p $TREE/build/release/tests/integration");
    shell("echo 'Test(x, is)' >$TREE/tests/integration/x_test.c");
    shell("echo tests/integration/x_test.c >$TREE/build/release/tests/integration/files");
}

static void remove_tree(void)
{
    shell("rm -rf $TREE");
}

TestSuite(private_stack, .init = make_tree, .fini = remove_tree);

/* Fails if the stack that the tool starts gets any of these settings. */
static void expect_kept_out(const char *tool)
{
    static const char *const settings[] = {"POSTGRES_PORT=5433",
                                           "NATS_PORT=4333",
                                           "GATEWAY_TLS_PORT=8443",
                                           "STACK_TLS=1",
                                           "REPLICAS_GATEWAY=7",
                                           "REPLICAS_SEARCH=0",
                                           "TRUSTED_PROXIES=foo",
                                           "ACTORS=31",
                                           "LOG_LEVEL=debug",
                                           "LOG_LEVEL_FILE=/level",
                                           "NATS_CA_FILE=/ca",
                                           "NATS_CREDS_FILE=/creds",
                                           "DATABASE_URL=postgresql://other",
                                           "PGOPTIONS=-c a.b=c",
                                           "RATE_LIMIT_DEFAULT=11",
                                           "PUBLIC_BASE_URL=http://other",
                                           "http_proxy=http://127.0.0.1:9",
                                           "HTTP_PROXY=http://127.0.0.1:9",
                                           "ALL_PROXY=http://127.0.0.1:9"};
    char command[256], line[4096];
    FILE *seen;

    for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
        snprintf(line, sizeof(line), "%s", settings[i]);
        *strchr(line, '=') = '\0';
        setenv(line, strchr(settings[i], '=') + 1, 1);
    }
    snprintf(command, sizeof(command), "HERE=$PWD ONLY=integration/ $TREE/tools/%s >$TREE/out 2>&1",
             tool);
    cr_expect_neq(system(command), 0, "%s: nothing was started", tool);
    snprintf(command, sizeof(command), "%s/seen", root);
    seen = fopen(command, "re");
    cr_assert_not_null(seen, "%s starts nothing", tool);
    while (fgets(line, sizeof(line), seen) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
            cr_expect_str_neq(line, settings[i], "%s: %s", tool, line);
    }
    fclose(seen);
}

Test(private_stack, of_the_tests_has_nothing_of_the_operators)
{
    expect_kept_out("run-tests release build/release/tests/integration/run");
}

Test(private_stack, of_the_benchmarks_has_nothing_of_the_operators)
{
    expect_kept_out("bench");
    expect_kept_out("bench.d/audit_scale");
}

Test(private_stack, of_the_screenshots_has_nothing_of_the_operators)
{
    expect_kept_out("screenshots");
}
