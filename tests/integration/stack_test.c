/* `make up` on a stack that runs already, and beside one. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/api.h"

TestSuite(stack, .init = stack_have_alone, .timeout = 120);

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

Test(stack, up_refuses_other_settings_than_those_that_it_runs_with)
{
    static const char *const others[] = {"WEBHOOK_ALLOW_CIDRS=", "REPLICAS_SEARCH=3",
                                         "GATEWAY_PORT=8080", "RATE_LIMIT_DEFAULT=7"};
    const pid_t gateway = stack_pid("gateway-0");

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        cr_expect_eq(system(format("%s deploy/local/stack up 2>&1 | grep -qxF 'stack: already"
                                   " running with other settings (%.*s): make down first'",
                                   others[i], (int)strcspn(others[i], "="), others[i])),
                     0, "%s", others[i]);
    cr_expect_neq(system("REPLICAS_AUDIT=2 deploy/local/stack up >/dev/null 2>&1"), 0);
    cr_expect_eq(system("REPLICAS_SEARCH=1 deploy/local/stack up >/dev/null 2>&1"), 0);
    cr_expect_eq(stack_pid("gateway-0"), gateway);
}

/* Of a second stack, on ports of ours that nobody uses; 0 when it says `said` and fails. */
static int fails(const char *settings, const char *said)
{
    const char *folder = format("%s-other", stack_setting("RUN_DIR"));
    const int port = stack_gateway_port() + 6;
    const char *up = format("RUN_DIR='%s' GATEWAY_TLS_PORT= REPLICAS_GATEWAY=1 GATEWAY_PORT=%d"
                            " DASHBOARD_PORT=%d %s timeout 60 deploy/local/stack up >'%s.log' 2>&1",
                            folder, port, port + 1, settings, folder);
    const bool failed = WEXITSTATUS(system(up)) == 1;
    const int status = system(format("grep -qE '%s' '%s.log'", said, folder));

    cr_assert_eq(system(format("rm -rf '%s'", folder)), 0);
    return failed ? status : -1;
}

Test(stack, up_says_at_once_which_setting_a_program_does_not_take)
{
    cr_assert_eq(fails("TRUSTED_PROXIES=foo", "^[a-z]+: TRUSTED_PROXIES must be networks"), 0);
}

Test(stack, up_refuses_a_port_that_is_no_number_before_anything_starts)
{
    cr_assert_eq(fails("GATEWAY_PORT=abc", "^stack: GATEWAY_PORT must be a number"), 0);
}

Test(stack, up_proposes_another_port_when_one_is_taken)
{
    const char *folder = format("%s-other", stack_setting("RUN_DIR"));
    int status =
        system(format("RUN_DIR='%s' GATEWAY_PORT=%d deploy/local/stack up 2>&1 |"
                      " grep -qE 'port %d is in use; choose another, as in GATEWAY_PORT=[0-9]+'",
                      folder, stack_gateway_port(), stack_gateway_port()));

    cr_assert_eq(system(format("rm -r '%s'", folder)), 0);
    cr_assert_eq(status, 0);
}
