#include "tests/support/own_stack.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "tests/support/api_client.h"

/* Settings of the stack of `make test` that this one must not inherit. */
static const char *const foreign[] = {
    "GATEWAY_TLS_PORT",   "GATEWAY_TLS_CERT", "GATEWAY_TLS_KEY", "TRUSTED_PROXIES",
    "WEBHOOK_DNS_SERVER", "REPLICAS_GATEWAY", "CELL_NAMES",
};

static void run_stack(const char *verb)
{
    const char *folder = stack_setting("RUN_DIR");

    cr_assert_eq(system(format("deploy/local/stack %s >'%s.log' 2>&1", verb, folder)), 0,
                 "stack %s: see %s.log", verb, folder);
}

static void set(char *line)
{
    char *value = strchr(line, '=');

    line[strcspn(line, "\n")] = '\0';
    if (value == NULL)
        return;
    *value++ = '\0';
    cr_assert_eq(setenv(line, value, 1), 0);
}

/* Reads its env file into our environment, as a shell would. */
static void read_env(void)
{
    FILE *env = popen(format("set -a; . '%s/env'; exec env", stack_setting("RUN_DIR")), "re");
    char line[4096];

    cr_assert_not_null(env);
    while (fgets(line, sizeof(line), env) != NULL)
        set(line);
    cr_assert_eq(pclose(env), 0);
}

void own_stack_start(const char *name, const char *const *settings)
{
    int port = stack_gateway_port();

    for (size_t i = 0; i < ARRAY_SIZE(foreign); i++)
        unsetenv(foreign[i]);
    /* `make test` reserves a dozen consecutive ports. */
    setenv("GATEWAY_PORT", format("%d", port + 6), 1);
    setenv("DASHBOARD_PORT", format("%d", port + 7), 1);
    setenv("RUN_DIR", format("%s-%s", stack_setting("RUN_DIR"), name), 1);
    for (size_t i = 0; settings[i] != NULL; i++)
        set(format("%s", settings[i]));
    /* A failed test may have left one, running or not. */
    cr_assert_eq(system(format("test ! -e '%s' || deploy/local/stack down; rm -rf '%s'",
                               stack_setting("RUN_DIR"), stack_setting("RUN_DIR"))),
                 0);
    run_stack("up");
    read_env();
}

void own_stack_stop(void)
{
    run_stack("down");
}

const char *own_stack_read(const char *file)
{
    char text[4096] = "";
    FILE *from = fopen(format("%s/%s", stack_setting("RUN_DIR"), file), "re");

    cr_assert_not_null(from, "%s", file);
    text[fread(text, 1, sizeof(text) - 1, from)] = '\0';
    fclose(from);
    if (text[0] != '\0' && text[strlen(text) - 1] == '\n')
        text[strlen(text) - 1] = '\0';
    return format("%s", text);
}

const char *own_stack_database_url(const char *cell)
{
    const char *const line = format("%s-postgres ", cell);
    const char *port = strstr(own_stack_read("ports"), line);

    cr_assert_not_null(port);
    return format("postgresql://admin:%s@127.0.0.1:%d/conversations",
                  own_stack_read(format("secrets/%s-database-admin", cell)),
                  atoi(port + strlen(line)));
}
