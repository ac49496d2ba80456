/* The dashboard while services do not answer: its users stay signed in. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/bus/bus.h"
#include "proto/subject.h"
#include "tests/support/dashboard_client.h"
#include "tests/support/http_client.h"
#include "tests/support/measure.h"
#include "tests/support/replica.h"

enum { TIMEOUT_MS = 30000, ARRIVAL_MS = 100 };

static struct org org;
static struct dashboard_session session;
static struct replica dashboard; /* with a short command timeout */

static void open_session(void)
{
    stack_have_alone();
    replica_start_of(&dashboard, "dashboard",
                     (const char *const[]){"COMMAND_TIMEOUT_MS=1000", NULL});
    cr_assert_eq(setenv("DASHBOARD_URL", format("http://127.0.0.1:%d", dashboard.port), 1), 0);
    org_new(&org);
    dashboard_client_new_user(&session, org.id, "owner");
}

static void wake_all(void)
{
    stack_signal("access-0", SIGCONT);
    stack_signal("audit-0", SIGCONT);
    stack_signal("search-0", SIGCONT);
    stack_signal("nats", SIGCONT);
    cr_assert(replicas_of_stack_await_ready(TIMEOUT_MS));
}

TestSuite(dashboard_outage, .init = open_session, .fini = wake_all);

static bool is_back(void *closure)
{
    return dashboard_client_get(&session, "/data/session")->status == 200;
}

static bool is_silent(void *closure)
{
    struct client_response *response = dashboard_client_get(&session, "/data/keys");

    return response->status == 503 && response->took_us < 500 * 1000;
}

Test(dashboard_outage, of_access_ends_no_session)
{
    stack_halt("access-0");
    expect_error(dashboard_client_get(&session, "/data/keys"), 503, "service_unavailable", NULL);
    expect_status(dashboard_client_get(NULL, "/sign-in"), 200);
    stack_signal("access-0", SIGCONT);
    cr_assert(stack_wait(is_back, NULL, TIMEOUT_MS));
}

struct question {
    const char *method, *path;
    const char *base; /* NULL: the usual one */
    pthread_t thread;
    struct client_response *response;
};

static void *ask(void *closure)
{
    struct question *question = closure;

    if (question->base != NULL)
        question->response = http_send(&(struct client_request){
            .method = question->method,
            .base = question->base,
            .path = question->path,
            .headers = (const char *const[]){format("Cookie: session=%s", session.token), NULL},
            .skip_checks = true});
    else
        question->response =
            dashboard_client_change(&session, question->method, question->path, NULL);
    return NULL;
}

/* Each is answered only when its command times out, so all are sent at once. */
static void ask_all(struct question *questions, size_t n)
{
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(pthread_create(&questions[i].thread, NULL, ask, &questions[i]), 0);
    for (size_t i = 0; i < n; i++)
        pthread_join(questions[i].thread, NULL);
}

Test(dashboard_outage, of_a_service_tells_whether_the_work_may_have_been_done)
{
    struct question questions[] = {{.method = "GET", .path = "/data/audit"},
                                   {.method = "GET", .path = "/data/audit/export.csv"},
                                   {.method = "POST", .path = "/data/audit/verify"}};

    stack_halt("audit-0");
    ask_all(questions, 3);
    expect_error(questions[0].response, 503, "service_unavailable", NULL);
    expect_error(questions[1].response, 503, "service_unavailable", NULL);
    expect_error(questions[2].response, 500, "server_error", NULL);
    expect_status(dashboard_client_get(&session, "/data/keys"), 200);
    stack_signal("audit-0", SIGCONT);
}

/* Access confirms the session late, and then audit does not answer: the response still comes at the
   request's deadline. Access resumes when the first dashboard, with half the timeout, gives up. */
Test(dashboard_outage, of_two_services_one_after_the_other_is_answered_within_one_deadline)
{
    struct replica patient;
    struct question first = {.method = "GET", .path = "/data/audit"},
                    second = {.method = "GET", .path = "/data/audit"};

    replica_start_of(&patient, "dashboard", (const char *const[]){"COMMAND_TIMEOUT_MS=2000", NULL});
    second.base = format("http://127.0.0.1:%d", patient.port);
    ask_all(&second, 1);
    expect_status(second.response, 200);
    stack_halt("audit-0");
    stack_halt("access-0");
    cr_assert_eq(pthread_create(&second.thread, NULL, ask, &second), 0);
    ask_all(&first, 1);
    stack_signal("access-0", SIGCONT);
    pthread_join(second.thread, NULL);
    expect_status(first.response, 503);
    expect_status(second.response, 503);
    cr_assert_lt(second.response->took_us, limit_scaled(3000 * INT64_C(1000)));
    stack_signal("audit-0", SIGCONT);
    replica_stop(&patient);
}

Test(dashboard_outage, of_the_bus_is_answered_at_once)
{
    stack_halt("nats");
    cr_assert(stack_wait(is_silent, NULL, TIMEOUT_MS));
    stack_signal("nats", SIGCONT);
    cr_assert(stack_wait(is_back, NULL, TIMEOUT_MS));
}

/* -1: it is not listed. */
static long long replicas_of(const char *service)
{
    struct client_response *response = dashboard_client_get(&session, "/data/services");
    const json_t *services = at(response, "services");

    for (size_t i = 0; i < json_array_size(services); i++)
        if (strcmp(text_at(response, format("services[%zu].name", i)), service) == 0)
            return integer_at(response, format("services[%zu].replicas", i));
    return -1;
}

static bool has_search(void *closure)
{
    return replicas_of("search") == 1;
}

Test(dashboard_outage, of_a_service_is_shown_to_owners)
{
    stack_halt("search-0");
    cr_expect_eq(replicas_of("search"), 0);
    cr_expect_eq(replicas_of("audit"), 1);
    stack_signal("search-0", SIGCONT);
    cr_assert(stack_wait(has_search, NULL, TIMEOUT_MS));
}

/* How often the services have been asked since the last call. */
static size_t count_asked(struct bus *bus, struct bus_mailbox *asked)
{
    struct bus_message *message;
    size_t n = 0;

    bus_wait(bus, ARRIVAL_MS);
    while ((message = bus_take(asked)) != NULL) {
        bus_message_free(message);
        n++;
    }
    return n;
}

/* One query to the services answers many requests at once, and another soon after. */
Test(dashboard_outage, of_services_is_looked_for_once_in_a_while)
{
    enum { LOOKS = 8 };
    struct question questions[LOOKS];
    struct bus *bus =
        bus_connect(&(struct bus_options){.url = stack_setting("NATS_URL"), .name = "looks"});
    struct bus_mailbox *asked = bus_serve(bus, BUS_STATS_SUBJECT, NULL);

    while (!bus_is_up(bus))
        bus_wait(bus, ARRIVAL_MS);
    (void)bus_flush(bus);
    cr_assert_eq(count_asked(bus, asked), 0);
    for (size_t i = 0; i < LOOKS; i++)
        questions[i] = (struct question){.method = "GET", .path = "/data/services"};
    ask_all(questions, LOOKS);
    for (size_t i = 0; i < LOOKS; i++)
        expect_status(questions[i].response, 200);
    expect_status(dashboard_client_get(&session, "/data/services"), 200);
    cr_assert_eq(count_asked(bus, asked), 1);
    bus_free(bus);
}
