/* The admin listener, over real connections. */
#include "common/http/admin.h"

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/metrics.h"
#include "common/base/watchdog.h"
#include "tests/support/http_connection.h"
#include "tests/support/port.h"

enum { TIMEOUT_MS = 30000 };

/* The connection of the latest ask(), which has the response. */
static struct http_connection latest = {.fd = -1};
static struct connection_response got;

static void close_latest(void)
{
    http_connection_close(&latest);
}

TestSuite(admin, .fini = close_latest);

struct subject {
    struct admin *admin;
    uint16_t port;
    atomic_bool ready;
    bool (*serves)(void *closure, char reason[128]);
};

static bool is_ready(void *closure, char reason[128])
{
    struct subject *subject = closure;
    if (atomic_load(&subject->ready))
        return true;
    (void)snprintf(reason, 128, "the \"bus\" is out of reach");
    return false;
}

static void start(struct subject *subject)
{
    subject->port = port_free();
    struct admin_options options = {.address = "127.0.0.1",
                                    .port = subject->port,
                                    .is_ready = is_ready,
                                    .serves = subject->serves,
                                    .closure = subject};
    cr_assert_eq(admin_start(&options, &subject->admin), ST_OK);
}

static void send_text(struct http_connection *connection, const char *text)
{
    cr_assert(http_connection_send(connection, text, strlen(text)));
}

/* Sends `request` and reads the response; the listener then closes the connection. */
static void ask(const struct subject *subject, const char *request)
{
    http_connection_close(&latest);
    cr_assert(http_connection_open(&latest, subject->port));
    send_text(&latest, request);
    cr_assert(http_connection_receive(&latest, &got, TIMEOUT_MS));
    cr_assert(http_connection_ends(&latest, TIMEOUT_MS));
}

static bool answered(int status, const char *type, const char *body)
{
    char value[128];
    return got.status == status &&
           http_connection_header(&got, "Content-Type", value, sizeof(value)) &&
           strcmp(value, type) == 0 &&
           http_connection_header(&got, "Cache-Control", value, sizeof(value)) &&
           strcmp(value, "no-store") == 0 && got.body_n == strlen(body) &&
           memcmp(got.body, body, got.body_n) == 0;
}

Test(admin, says_that_the_process_lives_and_whether_it_is_ready)
{
    struct subject s = {.ready = true};
    start(&s);
    ask(&s, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n");
    cr_assert(answered(200, "application/json", "{\"status\":\"ok\"}"));
    ask(&s, "GET /readyz?verbose HTTP/1.1\r\nHost: x\r\n\r\n");
    cr_assert(answered(200, "application/json", "{\"status\":\"ok\"}"));
    atomic_store(&s.ready, false);
    ask(&s, "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n");
    cr_assert(
        answered(503, "application/json",
                 "{\"status\":\"unavailable\",\"reason\":\"the \\\"bus\\\" is out of reach\"}"));
    ask(&s, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n");
    cr_assert_eq(got.status, 200);
    admin_stop(s.admin);
}

static bool always(void *closure, char reason[128])
{
    return true;
}

Test(admin, says_whether_it_answers_requests)
{
    struct subject other = {0}, s = {.serves = always};

    start(&s);
    ask(&s, "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n");
    cr_expect_eq(got.status, 503);
    ask(&s, "GET /servez HTTP/1.1\r\nHost: x\r\n\r\n");
    cr_expect_eq(got.status, 200);
    admin_stop(s.admin);
    start(&other);
    ask(&other, "GET /servez HTTP/1.1\r\nHost: x\r\n\r\n");
    cr_expect_eq(got.status, 503, "it does when it is ready");
    atomic_store(&other.ready, true);
    ask(&other, "GET /servez HTTP/1.1\r\nHost: x\r\n\r\n");
    cr_expect_eq(got.status, 200);
    admin_stop(other.admin);
}

Test(admin, names_a_thread_that_stands_still)
{
    struct subject s = {.ready = true};

    watchdog_begin("loop");
    start(&s);
    watchdog_kick_at(clock_mono_us() - 4000000);
    ask(&s, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n");
    cr_expect_eq(got.status, 200);
    ask(&s, "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n");
    cr_expect(answered(503, "application/json",
                       "{\"status\":\"unavailable\","
                       "\"reason\":\"thread loop has not responded for 4 s\"}"));
    watchdog_kick_at(clock_mono_us() - 16000000);
    ask(&s, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n");
    cr_expect(answered(503, "application/json",
                       "{\"status\":\"unavailable\","
                       "\"reason\":\"thread loop has not responded for 16 s\"}"));
    watchdog_kick();
    ask(&s, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n");
    cr_expect_eq(got.status, 200);
    ask(&s, "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n");
    cr_expect_eq(got.status, 200);
    admin_stop(s.admin);
}

Test(admin, renders_the_metrics)
{
    struct subject s = {0};
    char type[128];
    metric_add(metric_counter("admin_test_total", NULL, "Counted by the test."), 42);
    start(&s);
    ask(&s, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    cr_assert_eq(got.status, 200);
    cr_assert(http_connection_header(&got, "Content-Type", type, sizeof(type)));
    cr_assert_eq(strncmp(type, "text/plain; version=0.0.4", 25), 0);
    cr_assert_not_null(strstr(got.body, "admin_test_total 42\n"));
    admin_stop(s.admin);
}

Test(admin, knows_nothing_else)
{
    static const char *const requests[] = {
        "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /livez/ HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET //livez HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /LIVEZ HTTP/1.1\r\nHost: x\r\n\r\n",
        "POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx",
        "DELETE /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
    };
    struct subject s = {0};
    start(&s);
    for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
        ask(&s, requests[i]);
        cr_assert(answered(404, "application/json", "{\"status\":\"not found\"}"), "%s",
                  requests[i]);
    }
    admin_stop(s.admin);
}

Test(admin, refuses_a_large_body_and_http_2)
{
    struct subject s = {0};
    start(&s);
    ask(&s, "POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n");
    cr_assert_eq(got.status, 413);
    ask(&s, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    cr_assert_eq(got.status, 400);
    ask(&s, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n");
    cr_assert_eq(got.status, 200);
    admin_stop(s.admin);
}

Test(admin, answers_although_more_connect_than_it_keeps_open)
{
    struct subject s = {0};
    struct http_connection idle[80];
    start(&s);
    for (int i = 0; i < 80; i++)
        cr_assert(http_connection_open(&idle[i], s.port));
    for (int i = 0; i < 80; i++) {
        send_text(&idle[i], "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n");
        cr_assert(http_connection_receive(&idle[i], &got, TIMEOUT_MS));
        cr_assert_eq(got.status, 200);
        http_connection_close(&idle[i]);
    }
    admin_stop(s.admin);
}

/* Takes all but one of the descriptors that the process may have. */
static void use_up_descriptors(struct rlimit *before)
{
    struct rlimit few;
    int last = -1, fd;

    cr_assert_eq(getrlimit(RLIMIT_NOFILE, before), 0);
    few = (struct rlimit){.rlim_cur = 64, .rlim_max = before->rlim_max};
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    while ((fd = dup(0)) >= 0)
        last = fd;
    close(last);
}

Test(admin, pauses_without_descriptors_and_answers_once_there_are_some)
{
    struct subject s = {0};
    struct rlimit before;
    struct http_connection connection;
    clock_t spent;

    start(&s);
    use_up_descriptors(&before);
    cr_assert(http_connection_open(&connection, s.port));
    send_text(&connection, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n");
    spent = clock();
    cr_assert_not(http_connection_receive(&connection, &got, 500));
    cr_assert_lt(clock() - spent, CLOCKS_PER_SEC / 10, "it did not rest");
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    cr_assert(http_connection_receive(&connection, &got, TIMEOUT_MS));
    cr_assert_eq(got.status, 200);
    http_connection_close(&connection);
    admin_stop(s.admin);
}

Test(admin, stops_at_once_despite_a_connected_client)
{
    struct subject s = {0};
    struct http_connection silent, halfway;
    start(&s);
    cr_assert(http_connection_open(&silent, s.port));
    cr_assert(http_connection_open(&halfway, s.port));
    send_text(&halfway, "GET /livez HTT");
    ask(&s, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"); /* by then the other two are accepted */
    int64_t began_us = clock_mono_us();
    admin_stop(s.admin);
    /* Without the stop they would be closed after 5 s without a request. */
    cr_assert_lt(clock_mono_us() - began_us, 4000000);
    cr_assert(http_connection_ends(&silent, TIMEOUT_MS));
    cr_assert(http_connection_ends(&halfway, TIMEOUT_MS));
    http_connection_close(&silent);
    http_connection_close(&halfway);
}

Test(admin, needs_no_listener_and_reports_a_port_in_use)
{
    struct admin *admin = (struct admin *)1;
    struct admin_options options = {.address = "127.0.0.1", .is_ready = is_ready};
    cr_assert_eq(admin_start(&options, &admin), ST_OK);
    cr_assert_null(admin);
    admin_stop(admin);

    int taken = port_bound(&options.port);
    cr_assert_eq(listen(taken, 1), 0);
    cr_assert_eq(admin_start(&options, &admin), ST_UNAVAILABLE);
    cr_assert_null(admin);
    close(taken);
}
