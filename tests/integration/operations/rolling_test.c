/*
 * An upgrade under load, with two processes of each service and a load balancer in front of the
 * gateways: a next version's migrations are applied, and then every process is restarted, one after
 * the other. No request fails, and the audit log has them all. The programs are those of this
 * version: they know nothing of the migrations, whether they ran before or start after them.
 * (lifecycle_test.c tests how a dashboard ends.) TEST_LONG=1: five times the rate.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>

#include "common/base/clock.h"
#include "tests/support/api_client.h"
#include "tests/support/balancer.h"
#include "tests/support/load.h"
#include "tests/support/measure.h"
#include "tests/support/own_stack.h"
#include "tests/support/replica.h"
#include "tests/support/sql.h"

/* A stack of its own, since nothing takes the migrations back. */
static void start(void)
{
    const char *dashboard = format("DASHBOARD_PORT=%d", stack_gateway_port() + 8);

    stack_have_alone();
    own_stack_start("rolling", (const char *const[]){"REPLICAS_GATEWAY=2", dashboard, NULL});
}

TestSuite(rolling, .init = start, .fini = own_stack_stop);

enum { RATE = 60, LONG_RATE = 300, READY_WITHIN_MS = 10000, N_SERVICES = 5 };

static const char *const services[N_SERVICES] = {"access", "conversation", "search", "audit",
                                                 "webhook"};
static const char *const as_they_are[] = {NULL};

static void migrate(void)
{
    const char *program = stack_program("../tests/support/programs/migrate_next");

    cr_assert_eq(system(format("DATABASE_URL='%s' %s >>%s/log/migrate-of-tests.log 2>&1",
                               stack_setting("DATABASE_URL"), program, stack_setting("RUN_DIR"))),
                 0);
    cr_assert_eq(sql_integer("SELECT count(*) FROM migration.applied WHERE number = 2", NULL), 5);
}

/* Ends a process; the stack's supervisor starts it again under its name. */
static void restart(const char *name, int by)
{
    stack_end(name, by);
    cr_assert(replicas_of_stack_await_ready(READY_WITHIN_MS), "%s did not come back", name);
}

Test(rolling, migrations_and_restarts_of_every_process_cost_no_request)
{
    const struct balanced gateways[] = {
        {stack_gateway_port(), replica_of_stack("gateway-0").admin_port},
        {stack_gateway_port() + 1, replica_of_stack("gateway-1").admin_port}};
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
    load = load_start_at(base, &org, long_form_or(LONG_RATE, RATE));
    cr_assert(load_await_served(load, 20, READY_WITHIN_MS));
    migrate();
    fprintf(stderr, "migrated at %lld ms\n", (long long)(clock_mono_us() - began_us) / 1000);
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
    load_tell_failures(load, began_us);
    cr_assert_eq(load_failures(load, 0, INT64_MAX), 0);
    load_check_consistency(load);
}
