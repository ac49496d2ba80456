/* The dashboard while what it asks does not answer: nobody is signed out by it. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "tests/support/desk.h"
#include "tests/support/health.h"
#include "tests/support/replica.h"

enum { PATIENCE_MS = 30000 };

static struct org org;
static struct seat seat;
static struct replica dashboard; /* one that gives up soon what is not answered */

static void sit_down(void)
{
    stack_have_alone();
    replica_start_of(&dashboard, "dashboard",
                     (const char *const[]){"COMMAND_TIMEOUT_MS=1000", NULL});
    cr_assert_eq(setenv("DASHBOARD_URL", format("http://127.0.0.1:%d", dashboard.port), 1), 0);
    org_new(&org);
    desk_sit(&seat, org.id, "owner");
}

static void wake_all(void)
{
    stack_signal("access-0", SIGCONT);
    stack_signal("audit-0", SIGCONT);
    stack_signal("nats", SIGCONT);
    cr_assert(health_await(PATIENCE_MS));
}

TestSuite(dashboard_outage, .init = sit_down, .fini = wake_all, .timeout = 120);

static bool is_back(void *closure)
{
    return desk_get(&seat, "/data/session")->status == 200;
}

static bool is_silent(void *closure)
{
    struct answer *answer = desk_get(&seat, "/data/keys");

    return answer->status == 503 && answer->took_us < 500 * 1000;
}

Test(dashboard_outage, of_access_signs_nobody_out)
{
    stack_halt("access-0");
    expect_error(desk_get(&seat, "/data/keys"), 503, "service_unavailable", NULL);
    expect_status(desk_get(NULL, "/sign-in"), 200);
    stack_signal("access-0", SIGCONT);
    cr_assert(stack_wait(is_back, NULL, PATIENCE_MS));
}

struct question {
    const char *method, *path;
    pthread_t thread;
    struct answer *answer;
};

static void *ask(void *closure)
{
    struct question *question = closure;

    question->answer = desk_do(&seat, question->method, question->path, NULL);
    return NULL;
}

/* Each is answered when the service's time is over, so all of them are asked at once. */
static void ask_all(struct question *questions, size_t n)
{
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(pthread_create(&questions[i].thread, NULL, ask, &questions[i]), 0);
    for (size_t i = 0; i < n; i++)
        pthread_join(questions[i].thread, NULL);
}

Test(dashboard_outage, of_a_service_says_what_may_have_been_done)
{
    struct question questions[] = {{.method = "GET", .path = "/data/audit"},
                                   {.method = "GET", .path = "/data/audit/export.csv"},
                                   {.method = "POST", .path = "/data/audit/verify"}};

    stack_halt("audit-0");
    ask_all(questions, 3);
    expect_error(questions[0].answer, 503, "service_unavailable", NULL);
    expect_error(questions[1].answer, 503, "service_unavailable", NULL);
    expect_error(questions[2].answer, 500, "server_error", NULL);
    expect_status(desk_get(&seat, "/data/keys"), 200);
    stack_signal("audit-0", SIGCONT);
}

Test(dashboard_outage, of_the_bus_is_answered_at_once)
{
    stack_halt("nats");
    cr_assert(stack_wait(is_silent, NULL, PATIENCE_MS));
    stack_signal("nats", SIGCONT);
    cr_assert(stack_wait(is_back, NULL, PATIENCE_MS));
}
