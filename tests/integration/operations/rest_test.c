/* A stack without requests: that it sleeps, and yet notices a bus that hangs. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/str.h"
#include "tests/support/api_client.h"
#include "tests/support/http_connection.h"
#include "tests/support/measure.h"
#include "tests/support/replica.h"

/* The limits are not scaled: at rest a slow machine wakes no program more often, and the notice is
   due after ticks of a timer. */
enum {
    WINDOW_MS = 4000,
    WITHIN_MS = 60000,
    /* Per process. Seen: 2 to 7, and 18 for the webhook service with the short leases of these tests;
       for a loop whose heartbeat never rests, 56 to 67. */
    WAKES_PER_SECOND_MAX = 25,
    HANGS = 5,
    /* From the first request after a rest until readiness reports that the bus is silent. Seen: 104
       to 128 ms; with the next heartbeat at rest only, it would be 0.1 to 2.1 s. */
    NOTICED_US = 500 * 1000,
};

static void resume_bus(void)
{
    const pid_t pid = stack_pid("nats");

    if (pid > 1)
        kill(pid, SIGCONT);
    cr_assert(replicas_of_stack_await_ready(WITHIN_MS), "the stack did not come back");
}

TestSuite(rest, .init = stack_have_alone, .fini = resume_bus);

/* -- how often processes wake ---------------------------------------------------------------- */

static long long wakes_of_thread(pid_t pid, const char *tid)
{
    FILE *status = fopen(format("/proc/%d/task/%s/status", (int)pid, tid), "re");
    long long wakes = 0;
    char line[128];

    while (status != NULL && fgets(line, sizeof(line), status) != NULL)
        if (str_starts(str_of(line), STR("voluntary_ctxt_switches:")))
            wakes = strtoll(strchr(line, ':') + 1, NULL, 10);
    if (status != NULL)
        fclose(status);
    return wakes;
}

/* How often its threads have waited for something so far. */
static long long wakes_of(pid_t pid)
{
    DIR *tasks = opendir(format("/proc/%d/task", (int)pid));
    struct dirent *task;
    long long wakes = 0;

    cr_assert_not_null(tasks);
    while ((task = readdir(tasks)) != NULL)
        if (task->d_name[0] != '.')
            wakes += wakes_of_thread(pid, task->d_name);
    closedir(tasks);
    return wakes;
}

static bool all_rest(void *unused)
{
    struct replica replicas[REPLICAS_OF_STACK_MAX];
    long long before[REPLICAS_OF_STACK_MAX], rate;
    const size_t n = replicas_of_stack(replicas);
    const int64_t start_us = clock_mono_us();
    bool rest = true;

    for (size_t i = 0; i < n; i++)
        before[i] = wakes_of(stack_pid(replicas[i].name));
    stack_let_run(WINDOW_MS);
    for (size_t i = 0; i < n; i++) {
        rate = (wakes_of(stack_pid(replicas[i].name)) - before[i]) * 1000000 /
               (clock_mono_us() - start_us);
        fprintf(stderr, "%s wakes %lld times a second\n", replicas[i].name, rate);
        rest = rest && rate <= WAKES_PER_SECOND_MAX;
    }
    return rest;
}

Test(rest, leaves_the_processors_alone)
{
    struct org org;

    org_new(&org);
    expect_status(api_get(org.full_key, "/ping"), 200);
    cr_expect(stack_wait(all_rest, NULL, WITHIN_MS));
}

/* -- a bus that hangs ------------------------------------------------------------------------ */

static bool is_unready(void *gateway)
{
    return replica_ask(gateway, "/readyz")->status == 503;
}

static bool is_ready(void *gateway)
{
    return replica_ask(gateway, "/readyz")->status == 200;
}

Test(rest, does_not_hide_that_the_bus_hangs)
{
    struct replica gateway = replica_of_stack("gateway-0");

    cr_assert(stack_wait(is_ready, &gateway, WITHIN_MS));
    stack_halt("nats");
    cr_expect(stack_wait(is_unready, &gateway, WITHIN_MS));
    stack_signal("nats", SIGCONT);
    cr_expect(stack_wait(is_ready, &gateway, WITHIN_MS));
}

/* Lets the gateway rest, halts the bus, and sends a request. Returns how long it takes until
   readiness reports the silence. */
static int64_t time_to_notice(struct replica *gateway, struct http_connection *connection,
                              const char *request)
{
    int64_t sent_us, took_us;

    cr_assert(stack_wait(is_ready, gateway, WITHIN_MS));
    stack_let_run(200);
    stack_halt("nats");
    sent_us = clock_mono_us();
    cr_assert(http_connection_send(connection, request, strlen(request)));
    cr_assert(stack_wait(is_unready, gateway, WITHIN_MS));
    took_us = clock_mono_us() - sent_us;
    stack_signal("nats", SIGCONT);
    fprintf(stderr, "noticed after %lld ms\n", (long long)took_us / 1000);
    return took_us;
}

Test(rest, ends_with_the_first_request_and_the_bus_is_watched_from_then_on)
{
    struct connection_response response;
    struct http_connection connection;
    struct replica gateway;
    int64_t took_us[HANGS];
    struct org org;
    const char *request;

    org_new(&org);
    replica_start(&gateway, (const char *const[]){NULL});
    request = format("GET /api/v1/ping HTTP/1.1\r\nHost: localhost\r\n"
                     "Authorization: Bearer %s\r\n\r\n",
                     org.full_key);
    cr_assert(http_connection_open(&connection, gateway.port));
    for (int i = 0; i < HANGS; i++) {
        took_us[i] = time_to_notice(&gateway, &connection, request);
        cr_assert(http_connection_receive(&connection, &response, HTTP_TIMEOUT_MS));
    }
    http_connection_close(&connection);
    cr_expect_leq(percentile(took_us, HANGS, 75), NOTICED_US);
    replica_stop(&gateway);
}
