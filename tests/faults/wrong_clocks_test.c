/* What a single wrong clock costs: an alert, and nothing else. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "tests/faults/faulty_machine.h"
#include "tests/faults/faulty_stack.h"
#include "tests/support/api_client.h"
#include "tests/support/replica.h"
#include "tests/support/stack.h"

enum { SOON_MS = 60 * 1000, PINGS = 20 };

static const char FROM_DATABASE[] = "conversations_clock_skew_seconds{from=\"database\"}";
static const char FROM_MACHINE[] = "conversations_gateway_clock_skew_seconds{from=\"machine\"}";
static const char FROM_ACCESS[] = "conversations_gateway_clock_skew_seconds{from=\"access\"}";
static const char SEALED[] = "conversations_audit_sealed_entries_total";

static struct fault_plan plan;
static struct org org;

static void open_stack(void)
{
    stack_have_alone();
    fault_plan_read(&plan, "behind:postgres:1:90 ahead:access-0:1:6 ahead:gateway-0:1:3600", 1);
    faulty_stack_open(&plan);
    org_new(&org);
}

TestSuite(wrong_clocks, .init = open_stack);

struct gauge {
    struct replica of;
    const char *series;
    long long expected;
};

/* What the alert looks at. */
static bool shows(void *closure)
{
    const struct gauge *gauge = closure;

    return llabs(replica_metric(&gauge->of, gauge->series) - gauge->expected) <= 1;
}

static void await(const char *process, const char *series, long long expected)
{
    struct gauge gauge = {replica_of_stack(process), series, expected};

    cr_assert(stack_wait(shows, &gauge, SOON_MS), "%s of %s: %lld", series, process,
              replica_metric(&gauge.of, series));
}

static void expect_no_outage(void)
{
    struct replica replicas[REPLICAS_OF_STACK_MAX];
    const size_t n = replicas_of_stack(replicas);

    for (int i = 0; i < PINGS; i++)
        expect_status(api_get(org.full_key, "/ping"), 200);
    for (size_t i = 0; i < n; i++)
        cr_expect_eq(replica_ask(&replicas[i], "/readyz")->status, 200, "%s: %s", replicas[i].name,
                     replica_ask(&replicas[i], "/readyz")->body);
}

static bool is_verified(void *closure)
{
    json_t *verified = convctl("audit", "verify", "--org", org.id, NULL);
    const bool is_fine =
        json_is_true(json_object_get(verified, "ok")) &&
        json_integer_value(json_object_get(verified, "sealed")) >= *(const int *)closure;

    json_decref(verified);
    return is_fine;
}

static void expect_sealed(int entries)
{
    cr_assert(stack_wait(is_verified, &entries, SOON_MS), "%s",
              json_dumps(convctl("audit", "verify", "--org", org.id, NULL), 0));
}

Test(wrong_clocks, of_postgresql_seal_nothing_and_mark_nothing)
{
    const struct fault *const fault = &plan.steps[0].faults[0];
    const struct replica audit = replica_of_stack("audit-0");
    long long sealed;

    if (!faulty_machine_has(fault->kind))
        return;
    expect_no_outage();
    expect_sealed(PINGS);
    faulty_machine_begin(fault);
    expect_no_outage();
    sealed = replica_metric(&audit, SEALED);
    await("audit-0", FROM_DATABASE, 90);
    await("conversation-0", FROM_DATABASE, 90);
    expect_no_outage();
    cr_expect_eq(replica_metric(&audit, SEALED), sealed, "no block has the wrong time");
    faulty_machine_end(fault);
    expect_sealed(3 * PINGS);
    await("audit-0", FROM_DATABASE, 0);
    expect_no_outage();
}

Test(wrong_clocks, of_access_leave_gateways_ready)
{
    const struct fault *const fault = &plan.steps[1].faults[0];

    if (!faulty_machine_has(fault->kind))
        return;
    faulty_machine_begin(fault);
    await("gateway-0", FROM_ACCESS, -6);
    await("access-0", FROM_DATABASE, 6);
    expect_no_outage();
    faulty_machine_end(fault);
    await("gateway-0", FROM_ACCESS, 0);
    expect_sealed(PINGS);
}

static bool is_there(void *replica)
{
    return replica_ask(replica, "/readyz")->status != 0;
}

/* A gateway does not follow its machine's clock when that is set wrong, but when it is set right. */
Test(wrong_clocks, of_a_gateway_are_not_used)
{
    const struct fault *const fault = &plan.steps[2].faults[0];
    struct replica gateway;

    if (!faulty_machine_has(fault->kind))
        return;
    expect_no_outage();
    faulty_machine_begin(fault);
    expect_no_outage();
    await("gateway-0", FROM_MACHINE, -3600);
    await("gateway-0", FROM_ACCESS, 0);
    expect_no_outage();
    stack_end("gateway-0", SIGKILL);
    gateway = replica_of_stack("gateway-0");
    cr_assert(stack_wait(is_there, &gateway, SOON_MS));
    await("gateway-0", FROM_ACCESS, 3600);
    faulty_machine_end(fault);
    await("gateway-0", FROM_ACCESS, 0);
    await("gateway-0", FROM_MACHINE, 0);
    expect_no_outage();
    expect_sealed(4 * PINGS);
}

static bool has_gone_ahead(void *seconds)
{
    struct client_response *response = api_get(org.full_key, "/ping");
    json_t *time = response->status == 200 ? json_object_get(response->json, "server_time") : NULL;

    return llabs(json_integer_value(time) - clock_us() / 1000000 - *(const int *)seconds) <= 1;
}

/* As when the clock of the one machine of a small deployment is set right. */
Test(wrong_clocks, of_all_are_followed_together)
{
    int ahead_s = 90;
    struct fault fault = {.kind = FAULT_AHEAD, .clock_s = ahead_s};

    if (!faulty_machine_has(fault.kind))
        return;
    expect_no_outage();
    for (size_t i = 0; i < fault_processes_n; i++) {
        snprintf(fault.whom, sizeof(fault.whom), "%s", fault_processes[i]);
        faulty_machine_begin(&fault);
    }
    cr_assert(stack_wait(has_gone_ahead, &ahead_s, SOON_MS));
    expect_no_outage();
}
