/* What happens to requests when a part of the stack dies or hangs under 200 requests a second. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "tests/support/api_client.h"
#include "tests/support/http_connection.h"
#include "tests/support/load.h"
#include "tests/support/measure.h"
#include "tests/support/replica.h"
#include "tests/support/sql.h"

/* However a test ends, no process stays stopped, and the next one finds everything running. */
static void restore(void)
{
    pid_t pid;

    if ((pid = stack_pid("nats")) > 1)
        kill(pid, SIGCONT);
    if ((pid = stack_pid("conversation-0")) > 1)
        kill(pid, SIGCONT);
    cr_assert(replicas_of_stack_await_ready(30000), "the stack did not come back");
}

TestSuite(outage, .init = stack_have_alone, .fini = restore);

enum {
    RATE = 200,
    SOME = 60,                /* requests of the load */
    MANY = 150,               /* requests of the load */
    HEALS_US = 200 * 1000,    /* from when a part is back to the last failure */
    REFUSED_AT_ONCE_MIN = 95, /* percent */
    /* Of a test's own gateway: short, so that the test does not wait long for lost commands. */
    DEADLINE_MS = 1000,
    RESTARTS = 3,
    SAT_OUT_US = 1000 * 1000, /* how long services wait for a lost database: LEAVE_US */
    MOMENTS = 30,             /* attempts; on a busy machine, some stalls last too long */
    WAITS_MS = 30000,
};

#define DEADLINE "COMMAND_TIMEOUT_MS=1000"

/* Every answer is one of those that a client may expect. */
static void expect_known_answers(const struct load *load)
{
    for (int i = 0; i < load_count(load); i++) {
        const struct load_record *record = load_record(load, i);
        int status = record->status;

        cr_assert(status == 0 || status == 200 || status == 201 || status == 500 || status == 503,
                  "request %d of kind %d got %d", i, record->kind, status);
    }
}

static void print_summary(const char *what, const struct load *load, int64_t from_us)
{
    int by_status[6] = {0};

    for (int i = 0; i < load_count(load); i++)
        by_status[load_record(load, i)->status / 100]++;
    fprintf(stderr, "%s: %d answered 2xx, %d got 5xx, %d none; recovered after %lld ms\n", what,
            by_status[2], by_status[5], by_status[0],
            load_last_failure_us(load) == 0 ? 0LL
                                            : (load_last_failure_us(load) - from_us) / 1000LL);
}

static void expect_healed(const struct load *load, int64_t back_us)
{
    fprintf(stderr, "%d of %d failed when it was back\n", load_failures(load, back_us, INT64_MAX),
            load_sent(load, back_us, INT64_MAX));
    load_tell_failures(load, back_us);
    cr_assert_leq(load_last_failure_us(load), back_us + limit_scaled(HEALS_US));
}

/* Its limit is raised, since the load exceeds the default. */
static void org_without_limit(struct org *org)
{
    org_new(org);
    json_decref(convctl("org", "set", org->id, "--rate-limit", "100000", NULL));
}

/* Kills a process under load, and checks that the stack heals and loses nothing. */
static void kill_under_load(const char *name, const char *base)
{
    struct org org;
    struct load *load;
    int64_t killed_us, back_us;

    org_without_limit(&org);
    load = load_start_at(base, &org, RATE);
    cr_assert(load_await_served(load, SOME, WAITS_MS));
    killed_us = clock_mono_us();
    stack_end(name, SIGKILL);
    cr_assert(replicas_of_stack_await_ready(WAITS_MS));
    back_us = clock_mono_us();
    cr_assert(load_await_served(load, MANY, WAITS_MS), "it does not recover");
    load_stop(load);
    print_summary(name, load, killed_us);
    expect_known_answers(load);
    cr_assert_eq(load_failures(load, 0, killed_us), 0, "a request failed before");
    expect_healed(load, back_us);
    load_check_consistency(load);
}

static void kill_behind_a_gateway(const char *name)
{
    struct replica gateway;

    replica_start(&gateway, (const char *const[]){DEADLINE, NULL});
    kill_under_load(name, gateway.base);
    replica_stop(&gateway);
}

/* Idle services find their link to the database gone, and wait up to a second for a new one. A
   refusal after that is not judged: the machine took longer to restart the database. */
Test(outage, a_restart_of_the_database_refuses_no_command_of_an_idle_stack)
{
    struct org org;
    int judged = 0;

    org_new(&org);
    for (int i = 0; i < RESTARTS; i++) {
        const char *body = format("{\"external_id\":\"%d\",\"from\":{\"external_id\":\"c\"}}", i);
        struct client_response *response;
        int64_t gone_us;

        cr_assert(replicas_of_stack_await_ready(WAITS_MS));
        expect_status(api_get(org.full_key, "/ping"), 200);
        gone_us = clock_mono_us();
        stack_end("postgres", SIGINT);
        response = api_create(org.full_key, "%s", body);
        gone_us = clock_mono_us() - gone_us;
        fprintf(stderr, "answered %d after %lld ms\n", response->status, (long long)gone_us / 1000);
        if (response->status != 201 && gone_us > SAT_OUT_US)
            continue;
        expect_status(response, 201);
        judged++;
    }
    fprintf(stderr, "%d of %d restarts judged\n", judged, RESTARTS);
}

Test(outage, killing_the_conversation_service_loses_nothing_and_heals)
{
    kill_behind_a_gateway("conversation-0");
}

Test(outage, killing_the_search_service_loses_nothing_and_heals)
{
    kill_behind_a_gateway("search-0");
}

Test(outage, killing_the_audit_service_loses_nothing_and_heals)
{
    kill_behind_a_gateway("audit-0");
}

Test(outage, killing_the_access_service_loses_nothing_and_heals)
{
    kill_behind_a_gateway("access-0");
}

Test(outage, killing_the_gateway_loses_nothing_and_heals)
{
    kill_under_load("gateway-0", NULL);
}

Test(outage, killing_the_broker_loses_nothing_and_heals)
{
    kill_behind_a_gateway("nats");
}

Test(outage, killing_the_database_loses_nothing_and_heals)
{
    kill_behind_a_gateway("postgres");
}

static bool feels_silence(void *gateway)
{
    return replica_ask(gateway, "/readyz")->status == 503;
}

/* Sends requests beside the load, whose own threads wait for those that were in flight when the
   broker stopped: at least n requests, over twice the deadline. They are refused at once. */
static void expect_refusals(const struct replica *gateway, const struct org *org, int n)
{
    const int64_t until_us = clock_mono_us() + 2 * DEADLINE_MS * 1000;
    int i, at_once = 0;

    for (i = 0; i < n || clock_mono_us() < until_us; i++) {
        const bool reads = i % 2 == 0;
        const struct client_request request = {
            .method = reads ? "GET" : "POST",
            .base = gateway->base,
            .path = reads ? "/ping" : "/conversations",
            .key = org->full_key,
            .body = reads ? NULL
                          : format("{\"external_id\":\"refused-%d\",\"from\":{\"external_id\":"
                                   "\"c\"}}",
                                   i)};
        const struct client_response *response = http_send(&request);

        expect_error(response, 503, "service_unavailable", "*");
        at_once += response->took_us < DEADLINE_MS * 1000 / 2;
        stack_let_run(10);
    }
    fprintf(stderr, "%d of %d refused at once\n", at_once, i);
    cr_assert_geq(at_once * 100, i * REFUSED_AT_ONCE_MIN);
}

Test(outage, a_broker_that_hangs_is_refused_at_once_and_leaves_nothing)
{
    struct replica gateway;
    struct org org;
    struct load *load;
    int64_t continued_us;

    org_without_limit(&org);
    replica_start(&gateway, (const char *const[]){DEADLINE, NULL});
    load = load_start_at(gateway.base, &org, RATE);
    cr_assert(load_await_served(load, SOME, WAITS_MS));
    stack_halt("nats");
    cr_assert(stack_wait(feels_silence, &gateway, WAITS_MS));
    expect_refusals(&gateway, &org, SOME);
    stack_signal("nats", SIGCONT);
    continued_us = clock_mono_us();
    cr_assert(load_await_served(load, MANY, WAITS_MS), "it does not recover");
    load_stop(load);
    print_summary("nats, stopped", load, continued_us);
    expect_known_answers(load);
    expect_healed(load, continued_us);
    cr_assert_eq(sql_integer("SELECT count(*) FROM conversation.conversations"
                             " WHERE organization_id = $1::uuid AND external_id LIKE 'refused-%'",
                             org.id, NULL),
                 0, "a request answered 503 was executed later");
    load_check_consistency(load);
    replica_stop(&gateway);
}

/* Halts the broker for a moment. True if the gateway held a request meanwhile and it succeeded. */
static bool outlast_a_moment(const struct replica *gateway, const struct org *org)
{
    static const char *const held = "conversations_gateway_calls_parked_total";
    struct connection_response response;
    const long long before = replica_metric(gateway, held);
    const char *request = format("GET /api/v1/ping HTTP/1.1\r\nHost: localhost\r\n"
                                 "Authorization: Bearer %s\r\n\r\n",
                                 org->full_key);
    struct http_connection connection;

    cr_assert(http_connection_open(&connection, gateway->port));
    cr_assert(
        http_connection_send(&connection, request, strlen(request))); /* now the key is known */
    cr_assert(http_connection_receive(&connection, &response, 20000));
    stack_halt("nats");
    cr_assert(stack_wait(feels_silence, (void *)gateway, WAITS_MS));
    cr_assert(http_connection_send(&connection, request, strlen(request)));
    stack_let_run(10);
    stack_signal("nats", SIGCONT);
    cr_assert(http_connection_receive(&connection, &response, 20000));
    http_connection_close(&connection);
    cr_assert(response.status == 200 || response.status == 503 || response.status == 500, "%d",
              response.status);
    return response.status == 200 && replica_metric(gateway, held) > before;
}

Test(outage, a_broker_that_is_held_up_for_a_moment_costs_no_request)
{
    struct replica gateway;
    struct org org;
    int i = 0;

    org_without_limit(&org);
    replica_start(&gateway, (const char *const[]){NULL});
    while (i < MOMENTS && !outlast_a_moment(&gateway, &org))
        i++;
    fprintf(stderr, "survived after %d other moments\n", i);
    cr_assert_lt(i, MOMENTS);
    replica_stop(&gateway);
}

Test(outage, a_service_that_hangs_is_answered_500_and_its_late_work_is_dropped)
{
    struct replica gateway;
    struct org org;
    const char *id;
    struct client_response *response;

    org_new(&org);
    id = new_conversation(&org, "e", "c");
    replica_start(&gateway, (const char *const[]){DEADLINE, NULL});
    stack_halt("conversation-0");
    response = http_send(&(struct client_request){
        .method = "POST",
        .base = gateway.base,
        .path = "/conversations",
        .key = org.full_key,
        .body = "{\"external_id\":\"f\",\"from\":{\"external_id\":\"c\"}}"});
    expect_status(api_get(org.read_key, "/ping"), 200); /* other services go on */
    stack_signal("conversation-0", SIGCONT);
    expect_error(response, 500, "server_error", "*");
    expect_recorded(&org, response, "conversation.create");
    expect_status(read_conversation(&org, id), 200);
    cr_assert_eq(sql_integer("SELECT count(*) FROM conversation.conversations"
                             " WHERE organization_id = $1::uuid",
                             org.id, NULL),
                 1);
    replica_stop(&gateway);
}

Test(outage, without_the_database_requests_are_refused_and_nothing_is_pretended)
{
    struct org org;
    const pid_t before = stack_pid("postgres");
    struct client_response *response;

    org_new(&org);
    expect_status(api_get(org.full_key, "/ping"), 200);
    stack_signal("postgres", SIGKILL);
    response = api_create(org.full_key, "{\"external_id\":\"e\",\"from\":{\"external_id\":\"c\"}}");
    cr_assert(response->status == 503 || response->status == 500 || response->status == 201, "%d",
              response->status);
    stack_await_again("postgres", before);
    cr_assert(replicas_of_stack_await_ready(WAITS_MS));
    cr_assert_eq(sql_integer("SELECT count(*) FROM conversation.conversations"
                             " WHERE organization_id = $1::uuid",
                             org.id, NULL),
                 response->status == 201);
}
