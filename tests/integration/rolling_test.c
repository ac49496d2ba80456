/*
 * Every process is restarted under load, one after the other, with two of each and a load balancer
 * before the gateways: no request fails, and the trail has them all. (How a dashboard ends is in
 * lifecycle_test.c.) TEST_LONG=1: at five times the rate.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "tests/support/api.h"
#include "tests/support/balancer.h"
#include "tests/support/health.h"
#include "tests/support/lenient.h"
#include "tests/support/load.h"
#include "tests/support/replica.h"

TestSuite(rolling, .init = stack_have_alone, .timeout = 240);

enum { RATE = 60, LONG_RATE = 300, READY_WITHIN_MS = 30000, N_SERVICES = 5 };

static const char *const services[N_SERVICES] = {"access", "conversation", "search", "audit",
                                                 "webhook"};
static const char *const as_they_are[] = {NULL};

struct incarnation {
    const char *name;
    pid_t pid;
};

static bool is_another(void *closure)
{
    const struct incarnation *before = closure;
    const pid_t pid = stack_pid(before->name);

    return pid > 1 && pid != before->pid;
}

/* The stack's supervisor starts it again under its name. */
static void restart(const char *name, int by)
{
    struct incarnation before = {name, stack_pid(name)};

    stack_signal(name, by);
    cr_assert(stack_wait(is_another, &before, READY_WITHIN_MS), "%s did not end", name);
    cr_assert(health_await(READY_WITHIN_MS), "%s did not come back", name);
}

static int admin_port_of(const char *name)
{
    FILE *ports = fopen(format("%s/ports", stack_setting("RUN_DIR")), "re");
    char at[64];
    int port, found = 0;

    cr_assert_not_null(ports);
    while (fscanf(ports, "%63s %d", at, &port) == 2)
        if (strcmp(at, name) == 0)
            found = port;
    fclose(ports);
    cr_assert_neq(found, 0, "%s has no admin port", name);
    return found;
}

/* The first failures, for whoever has to find out. */
static int count_failures(const struct load *load, int64_t began_us)
{
    int n = 0;

    for (int i = 0; i < load_count(load); i++) {
        const struct load_record *record = load_record(load, i);

        if (record->status >= 200 && record->status < 300)
            continue;
        if (n++ < 10)
            fprintf(stderr, "at %lld ms a request of kind %d got %d after %lld ms\n",
                    (long long)(record->sent_us - began_us) / 1000, (int)record->kind,
                    record->status, (long long)record->took_us / 1000);
    }
    return n;
}

Test(rolling, restarts_of_every_process_cost_no_request)
{
    const struct balanced gateways[] = {{stack_gateway_port(), admin_port_of("gateway-0")},
                                        {stack_gateway_port() + 1, admin_port_of("gateway-1")}};
    const char *base = balancer_start(gateways, 2);
    struct replica seconds[N_SERVICES];
    struct org org;
    struct load *load;
    int64_t began_us;

    for (int i = 0; i < N_SERVICES; i++)
        replica_start_of(&seconds[i], services[i], as_they_are);
    org_new(&org);
    json_decref(convctl("org", "set", org.id, "--rate-limit", "100000", NULL));
    balancer_await_all();
    began_us = clock_mono_us();
    load = load_start_at(base, &org, long_or(LONG_RATE, RATE));
    for (int i = 0; i < N_SERVICES; i++) {
        restart(format("%s-0", services[i]), SIGTERM);
        replica_stop(&seconds[i]);
        replica_start_of(&seconds[i], services[i], as_they_are);
        fprintf(stderr, "%s restarted at %lld ms\n", services[i],
                (long long)(clock_mono_us() - began_us) / 1000);
    }
    restart("gateway-0", SIGTERM);
    balancer_await_all();
    restart("gateway-1", SIGTERM);
    balancer_await_all();
    restart("dashboard-0", SIGKILL); /* no request needs it */
    load_stop(load);
    fprintf(stderr, "%d requests in %lld ms\n", load_count(load),
            (long long)(clock_mono_us() - began_us) / 1000);
    for (int i = 0; i < N_SERVICES; i++)
        replica_stop(&seconds[i]);
    cr_assert_eq(count_failures(load, began_us), 0);
    load_reckon(load);
}
