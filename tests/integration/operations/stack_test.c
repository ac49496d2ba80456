/* `make up` on a stack that runs already. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "tests/support/api_client.h"

TestSuite(stack, .init = stack_have_alone);

Test(stack, up_leaves_a_running_stack_alone_when_it_waits_in_vain)
{
    const pid_t gateway = stack_pid("gateway-0"), hung = stack_pid("access-0");
    int status;

    cr_assert(gateway > 0 && hung > 0);
    kill(hung, SIGSTOP);
    status = system("READY_TIMEOUT_S=1 deploy/local/stack up >/dev/null 2>&1");
    kill(hung, SIGCONT);
    cr_assert_neq(status, 0);
    cr_assert_eq(stack_pid("gateway-0"), gateway);
    cr_assert_eq(stack_pid("access-0"), hung);
    cr_assert_eq(system("deploy/local/stack up >/dev/null 2>&1"), 0);
    cr_assert_eq(stack_pid("gateway-0"), gateway);
}

Test(stack, up_prints_the_address_with_tls)
{
    cr_assert_eq(system("deploy/local/stack up |"
                        " grep -x \" *https://127.0.0.1:$GATEWAY_TLS_PORT/api/v1\" >/dev/null"),
                 0);
}

Test(stack, up_refuses_other_settings_than_those_that_it_runs_with)
{
    static const char *const others[] = {"WEBHOOK_ALLOW_CIDRS=", "REPLICAS_SEARCH=3",
                                         "GATEWAY_PORT=8080", "RATE_LIMIT_DEFAULT=7"};
    const pid_t gateway = stack_pid("gateway-0");

    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        cr_expect_eq(system(format("%s deploy/local/stack up 2>&1 | grep -qxF 'stack: already"
                                   " running with other settings (%.*s): make down first'",
                                   others[i], (int)strcspn(others[i], "="), others[i])),
                     0, "%s", others[i]);
    cr_expect_neq(system("REPLICAS_AUDIT=2 deploy/local/stack up >/dev/null 2>&1"), 0);
    cr_expect_eq(system("REPLICAS_SEARCH=1 deploy/local/stack up >/dev/null 2>&1"), 0);
    cr_expect_eq(stack_pid("gateway-0"), gateway);
}

Test(stack, up_refuses_another_secret_than_that_it_runs_with)
{
    const char *secret = format("%s/secrets/cursor-key", stack_setting("RUN_DIR"));
    int status;

    cr_assert_eq(
        system(format("cp -a '%s' '%s.kept' && echo another >'%s'", secret, secret, secret)), 0);
    status = system("deploy/local/stack up 2>&1 | grep -qxF 'stack: already running with other"
                    " settings (secrets/cursor-key): make down first'");
    cr_assert_eq(system(format("mv '%s.kept' '%s'", secret, secret)), 0);
    cr_expect_eq(status, 0);
    cr_expect_eq(system("deploy/local/stack up >/dev/null 2>&1"), 0);
}

static long free_port(const char *count)
{
    char text[16] = "";
    FILE *out = popen(format("deploy/local/stack free-port %s", count), "re");

    cr_assert_not_null(out);
    cr_assert_not_null(fgets(text, sizeof(text), out));
    cr_assert_eq(pclose(out), 0);
    return strtol(text, NULL, 10);
}

/* Otherwise a port of a row that is kept for later could be given to another process. */
Test(stack, single_free_ports_are_never_of_a_row)
{
    for (int i = 0; i < 5; i++) {
        cr_expect_lt(free_port("12"), 20000 - 12);
        cr_expect_geq(free_port("1"), 20000);
    }
}
