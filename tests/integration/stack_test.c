/* `make up` on a stack that runs already, and beside one. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/api.h"

TestSuite(stack, .init = stack_have_alone, .timeout = 300);

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

static long free_port(const char *count)
{
    char text[16] = "";
    FILE *out = popen(format("deploy/local/stack free-port %s", count), "re");

    cr_assert_not_null(out);
    cr_assert_not_null(fgets(text, sizeof(text), out));
    cr_assert_eq(pclose(out), 0);
    return strtol(text, NULL, 10);
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

/* Else one of a row, kept for later, could be given to a process meanwhile. */
Test(stack, single_free_ports_are_never_of_a_row)
{
    for (int i = 0; i < 10; i++) {
        cr_expect_lt(free_port("12"), 20000 - 12);
        cr_expect_geq(free_port("1"), 20000);
    }
}

/* -- a stack beside the one that the tests share ---------------------------------------------- */

static const char *const promised[] = {"BASE_URL", "DASHBOARD_URL", "DATABASE_URL",
                                       "NATS_URL", "ORG_ID",        "FULL_KEY",
                                       "READ_KEY", "OWNER_EMAIL",   "OWNER_PASSWORD"};
static const char *const processes[] = {"postgres",  "nats",      "access-0",
                                        "gateway-0", "search-0",  "conversation-0",
                                        "audit-0",   "webhook-0", "dashboard-0"};
enum { PROMISED = sizeof(promised) / sizeof(promised[0]) };
enum { PROCESSES = sizeof(processes) / sizeof(processes[0]) };

static void stack_do(const char *verb)
{
    const char *folder = stack_setting("RUN_DIR");

    cr_assert_eq(system(format("deploy/local/stack %s >>'%s.log' 2>&1", verb, folder)), 0, "%s",
                 verb);
}

/* From here on this process speaks to the other stack, as a shell does that has sourced its env. */
static void take_env(void)
{
    for (size_t i = 0; i < PROMISED; i++) {
        FILE *shell = popen(
            format(". '%s/env' && printf %%s \"$%s\"", stack_setting("RUN_DIR"), promised[i]), "r");
        char value[1024] = "";

        cr_assert_not_null(shell);
        cr_assert_gt(fread(value, 1, sizeof(value) - 1, shell), 0, "%s", promised[i]);
        cr_assert_eq(pclose(shell), 0);
        setenv(promised[i], value, 1);
    }
}

static void move_beside(void)
{
    const int port = stack_gateway_port() + 6;

    setenv("RUN_DIR", format("%s-other", stack_setting("RUN_DIR")), 1);
    setenv("GATEWAY_PORT", format("%d", port), 1);
    setenv("DASHBOARD_PORT", format("%d", port + 1), 1);
    setenv("REPLICAS_GATEWAY", "1", 1);
    setenv("GATEWAY_TLS_PORT", "", 1);
}

static void remove_other(void)
{
    stack_do("down");
    cr_assert_eq(system(format("rm -r '%s'", stack_setting("RUN_DIR"))), 0);
}

Test(stack, up_shows_nothing_that_an_earlier_start_logged, .fini = remove_other)
{
    const char *log;

    move_beside();
    log = format("%s.log", stack_setting("RUN_DIR"));
    cr_assert_neq(system("AUTH_FAILURE_LIMIT=abc deploy/local/stack up >/dev/null 2>&1"), 0);
    cr_assert_neq(system(format("GATEWAY_THREADS=abc deploy/local/stack up >'%s' 2>&1", log)), 0);
    cr_expect_eq(system(format("grep -q GATEWAY_THREADS '%s'", log)), 0);
    cr_expect_neq(system(format("grep -q AUTH_FAILURE_LIMIT '%s'", log)), 0);
}

Test(stack, run_ends_well_when_down_stops_it, .fini = remove_other)
{
    const char *log;

    move_beside();
    log = format("%s.log", stack_setting("RUN_DIR"));
    cr_assert_eq(system(format(": >'%s'; deploy/local/stack run >'%s' 2>&1 & run=$!;"
                               " timeout 120 tail -n +1 -f --pid=$run '%s' | grep -qm1 Ctrl-C &&"
                               " deploy/local/stack down && wait $run",
                               log, log, log)),
                 0);
}

Test(stack, down_leaves_no_process_and_the_next_up_finds_the_data, .fini = remove_other)
{
    const char *shared = format("%s", stack_setting("BASE_URL"));
    const char *shared_key = format("%s", stack_setting("FULL_KEY"));
    const struct answer *made;
    pid_t pids[PROCESSES];
    const char *key;

    move_beside();
    stack_do("up");
    take_env();
    key = format("%s", stack_setting("FULL_KEY"));
    made = api_create(key, "{\"external_id\":\"kept\",\"from\":{\"external_id\":\"a\"}}");
    expect_status(made, 201);
    expect_status(http_send(&(struct http_request){
                      .method = "GET", .base = shared, .path = "/ping", .key = shared_key}),
                  200);
    for (size_t i = 0; i < PROCESSES; i++) {
        pids[i] = stack_pid(processes[i]);
        cr_assert_gt(pids[i], 0, "%s", processes[i]);
    }
    stack_do("down");
    for (size_t i = 0; i < PROCESSES; i++) {
        cr_expect_eq(kill(pids[i], 0), -1, "%s", processes[i]);
        cr_expect_eq(stack_pid(processes[i]), 0, "%s", processes[i]);
    }
    stack_do("up");
    take_env();
    cr_expect_str_eq(stack_setting("FULL_KEY"), key);
    expect_status(api_get(key, format("/conversations/%s", text_at(made, "id"))), 200);
}
