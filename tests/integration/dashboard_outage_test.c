/* The dashboard while what it asks does not answer: nobody is signed out by it. */
#include <criterion/criterion.h>
#include <signal.h>

#include "tests/support/desk.h"

static struct org org;
static struct seat seat;

static void sit_down(void)
{
    stack_have_alone();
    org_new(&org);
    desk_sit(&seat, org.id, "owner");
}

static void wake_all(void)
{
    stack_signal("access-0", SIGCONT);
    stack_signal("audit-0", SIGCONT);
    stack_signal("nats", SIGCONT);
}

TestSuite(dashboard_outage, .init = sit_down, .fini = wake_all, .timeout = 120);

static bool is_back(void *closure)
{
    return desk_get(&seat, "/data/session")->status == 200;
}

static bool is_silent(void *closure)
{
    struct answer *answer = desk_get(&seat, "/data/keys");

    return answer->status == 503 && answer->took_us < 1000000;
}

Test(dashboard_outage, of_access_signs_nobody_out)
{
    stack_halt("access-0");
    expect_error(desk_get(&seat, "/data/keys"), 503, "service_unavailable", NULL);
    expect_status(desk_get(NULL, "/sign-in"), 200);
    stack_signal("access-0", SIGCONT);
    cr_assert(stack_wait(is_back, NULL, 20000));
}

Test(dashboard_outage, of_a_service_says_what_may_have_been_done)
{
    stack_halt("audit-0");
    expect_error(desk_get(&seat, "/data/audit"), 503, "service_unavailable", NULL);
    expect_error(desk_get(&seat, "/data/audit/export.csv"), 503, "service_unavailable", NULL);
    expect_error(desk_do(&seat, "POST", "/data/audit/verify", NULL), 500, "server_error", NULL);
    expect_status(desk_get(&seat, "/data/keys"), 200);
    stack_signal("audit-0", SIGCONT);
}

Test(dashboard_outage, of_the_bus_is_answered_at_once)
{
    stack_halt("nats");
    cr_assert(stack_wait(is_silent, NULL, 5000));
    stack_signal("nats", SIGCONT);
    cr_assert(stack_wait(is_back, NULL, 20000));
}
