/*
 * `make up`, `make run` and `make down` of a stack beside the one that the tests run on. Making its
 * database takes longest, so each test leaves it to the next one.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/str.h"
#include "tests/support/api_client.h"

/* From here on, this process uses the other stack, on unused ports of this test run. */
static void move_beside(void)
{
    const int port = stack_gateway_port() + 6;

    stack_have_alone();
    setenv("RUN_DIR", format("%s-other", stack_setting("RUN_DIR")), 1);
    setenv("GATEWAY_PORT", format("%d", port), 1);
    setenv("DASHBOARD_PORT", format("%d", port + 1), 1);
    setenv("REPLICAS_GATEWAY", "1", 1);
    setenv("GATEWAY_TLS_PORT", "", 1);
    setenv("SHUTDOWN_DELAY_MS", "", 1);
}

static void stack_do(const char *verb)
{
    const char *folder = stack_setting("RUN_DIR");

    cr_assert_eq(system(format("deploy/local/stack %s >>'%s.log' 2>&1", verb, folder)), 0, "%s",
                 verb);
}

static void stop(void)
{
    stack_do("down");
}

TestSuite(stack_beside, .init = move_beside, .fini = stop);

/* -- a start that cannot succeed ----------------------------------------------------------------
 */

/* `make up` with these settings fails, and prints a line that matches `reply`. */
static void expect_failure(const char *settings, const char *reply)
{
    const char *log = format("%s.log", stack_setting("RUN_DIR"));
    const int status =
        system(format("%s timeout 120 deploy/local/stack up >'%s' 2>&1", settings, log));

    cr_assert_eq(WEXITSTATUS(status), 1, "%s: see %s", settings, log);
    cr_assert_eq(system(format("grep -qE '%s' '%s'", reply, log)), 0, "%s: see %s", settings, log);
}

Test(stack_beside, up_says_at_once_which_setting_a_program_does_not_take)
{
    expect_failure("TRUSTED_PROXIES=10.0.0.0/8,foo",
                   "TRUSTED_PROXIES must be networks.*\"invalid\":\"foo\"");
    expect_failure("WEBHOOK_ALLOW_CIDRS=foo",
                   "WEBHOOK_ALLOW_CIDRS must be networks.*\"invalid\":\"foo\"");
}

Test(stack_beside, up_refuses_an_invalid_port_before_anything_starts)
{
    expect_failure("GATEWAY_PORT=abc", "^stack: GATEWAY_PORT must be a number");
}

Test(stack_beside, up_proposes_another_port_when_one_is_taken)
{
    const int taken = stack_gateway_port();

    expect_failure(format("GATEWAY_PORT=%d", taken),
                   format("port %d is in use; choose another, as in GATEWAY_PORT=[0-9]+", taken));
}

Test(stack_beside, up_shows_nothing_that_an_earlier_start_logged)
{
    expect_failure("AUTH_FAILURE_LIMIT=abc", "AUTH_FAILURE_LIMIT");
    expect_failure("GATEWAY_THREADS=abc", "GATEWAY_THREADS");
    cr_expect_neq(system(format("grep -q AUTH_FAILURE_LIMIT '%s.log'", stack_setting("RUN_DIR"))),
                  0);
}

/* Writes the file that keeps settings. Settings in the environment take precedence. */
static void keep_settings(const char *lines)
{
    const char *folder = stack_setting("RUN_DIR");

    cr_assert_eq(
        system(format("mkdir -p '%s' && printf '%s' >'%s/settings.env'", folder, lines, folder)),
        0);
}

Test(stack_beside, up_takes_settings_that_a_file_keeps)
{
    keep_settings("# ours\n\nGATEWAY_PORT=abc\nGATEWAY_THREADS=abc\n");
    expect_failure("", "setting GATEWAY_THREADS must be");
    expect_failure("GATEWAY_THREADS=1 AUTH_FAILURE_LIMIT=abc", "AUTH_FAILURE_LIMIT");
    keep_settings("GATEWAY_THREADS=abc\r\nGATEWAY_PORT=8080\r\nGATEWAY_PRT=8080");
    expect_failure("", "settings.env, line 3: GATEWAY_PRT is not a setting of make up");
    keep_settings("GATEWAY_PORT=8080\r\nGATEWAY_THREADS=abc\r\n");
    expect_failure("", "setting GATEWAY_THREADS must be");
    keep_settings("NATS_PORT=0\nGATEWAY_PRT=8080");
    expect_failure("", "settings.env, line 2: GATEWAY_PRT is not a setting of make up");
    keep_settings("NATS_URL=nats://elsewhere\n");
    expect_failure("", "settings.env, line 1: NATS_URL is not a setting of make up");
    expect_failure("ADMIN_ADDRESS=localhost", "ADMIN_ADDRESS is not a setting of make up");
    expect_failure("NATS_URL_FILE=/nowhere", "NATS_URL_FILE is not a setting of make up");
    expect_failure("CURSOR_KEY_FILE=/nowhere", "CURSOR_KEY_FILE is not a setting of make up");
    keep_settings("export GATEWAY_PORT\n");
    expect_failure("", "settings.env, line 1: this must be NAME=VALUE");
    keep_settings("");
}

/* -- one that runs and is stopped ---------------------------------------------------------------
 */

static const char *const promised[] = {"BASE_URL", "DASHBOARD_URL", "DATABASE_URL",
                                       "NATS_URL", "ORG_ID",        "FULL_KEY",
                                       "READ_KEY", "OWNER_EMAIL",   "OWNER_PASSWORD"};
static const char *const processes[] = {"postgres",  "nats",      "access-0",
                                        "gateway-0", "search-0",  "conversation-0",
                                        "audit-0",   "webhook-0", "dashboard-0"};
enum { PROMISED = ARRAY_SIZE(promised) };
enum { PROCESSES = ARRAY_SIZE(processes) };

/* From here on, this process uses the other stack, like a shell that has sourced its env. */
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

Test(stack_beside, run_ends_well_when_down_stops_it)
{
    const char *log = format("%s.log", stack_setting("RUN_DIR"));

    cr_assert_eq(system(format(": >'%s'; deploy/local/stack run >'%s' 2>&1 & run=$!;"
                               " timeout 120 tail -n +1 -f --pid=$run '%s' | grep -qm1 Ctrl-C &&"
                               " deploy/local/stack down && wait $run",
                               log, log, log)),
                 0);
}

Test(stack_beside, run_leaves_no_process_when_it_is_killed)
{
    const char *folder = stack_setting("RUN_DIR"), *log = format("%s.log", folder);

    cr_assert_eq(system(format(": >'%s'; deploy/local/stack run >'%s' 2>&1 & run=$!;"
                               " timeout 120 tail -n +1 -f --pid=$run '%s' | grep -qm1 Ctrl-C &&"
                               " kill -KILL $run && timeout 60 flock '%s/lock' true",
                               log, log, log, folder)),
                 0);
}

/* `make` in a copy of the clone, at a path with a blank, as a user does whose environment names a
   proxy, which does not answer. The programs are there, so that no other make has to build them. */
static void make_in_copy(const char *target)
{
    const char *folder = stack_setting("RUN_DIR");

    cr_assert_eq(system(format("cd '%s/clone' && http_proxy=http://127.0.0.1:9 no_proxy=localhost"
                               " timeout 120 make MAKE=true %s >'%s/make.log' 2>&1",
                               folder, target, folder)),
                 0, "make %s: see %s/make.log", target, folder);
}

Test(stack_beside, make_up_works_at_a_path_with_a_blank_and_behind_a_proxy)
{
    const char *folder = format("%s blank ü", stack_setting("RUN_DIR"));

    cr_assert_eq(system(format("mkdir -p '%s/clone/build/release' && cd '%s/clone' &&"
                               " cp -r '%s' build/release/bin &&"
                               " cp -r \"$OLDPWD\"/Makefile \"$OLDPWD\"/deploy \"$OLDPWD\"/tools .",
                               folder, folder, stack_setting("BIN_DIR"))),
                 0);
    setenv("RUN_DIR", folder, 1);
    make_in_copy("up");
    take_env();
    expect_status(api_get(stack_setting("FULL_KEY"), "/ping"), 200);
    make_in_copy("down");
    for (size_t i = 0; i < PROCESSES; i++)
        cr_expect_eq(stack_pid(processes[i]), 0, "%s", processes[i]);
}

Test(stack_beside, down_leaves_no_process_and_the_next_up_finds_the_data)
{
    const char *shared = format("%s", stack_setting("BASE_URL"));
    const char *shared_key = format("%s", stack_setting("FULL_KEY"));
    const struct client_response *made;
    pid_t pids[PROCESSES];
    const char *key;

    stack_do("up");
    take_env();
    key = format("%s", stack_setting("FULL_KEY"));
    made = api_create(key, "{\"external_id\":\"kept-%lld\",\"from\":{\"external_id\":\"a\"}}",
                      (long long)clock_us());
    expect_status(made, 201);
    expect_status(http_send(&(struct client_request){
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
