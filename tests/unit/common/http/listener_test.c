#include "common/http/edge_metrics.h"
#include "common/http/listener.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/http/edge_request.h"
#include "tests/support/measure.h"
#include "tests/support/port.h"

/* Instead of libc's, for h2o: the same, but counted. */
static int n_epoll_ctl;

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): glibc's are reserved */
int epoll_ctl(int epoll, int op, int fd, struct epoll_event *event)
{
    n_epoll_ctl++;
    return (int)syscall(SYS_epoll_ctl, epoll, op, fd, event);
}

/* A listener whose one handler leaves requests unanswered until answer(). */
static h2o_globalconf_t http;
static h2o_context_t context;
static struct timers timers;
static struct networks trusted;
static struct connections connections;
static struct listener listener;
static h2o_req_t *waiting;
static int n_requests;

struct pending {
    h2o_socket_t *sock;
};

static void on_dispose(void *self)
{
    const struct pending *pending = self;

    connection_rests(pending->sock);
}

static int on_request(h2o_handler_t *handler, h2o_req_t *req)
{
    struct pending *pending = h2o_mem_alloc_shared(&req->pool, sizeof(*pending), on_dispose);

    (void)handler;
    pending->sock = connection_socket(req->conn);
    connection_busy(pending->sock);
    waiting = req;
    n_requests++;
    return 0;
}

static int client;
static struct sockaddr_in to = {.sin_family = AF_INET};

static void on_connection_closed(struct connections *all)
{
    listener_resume(&listener);
}

static void set_up(void)
{
    const uint16_t port = port_free();
    h2o_hostconf_t *host;

    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    edge_metrics_open("listener_test_");
    h2o_config_init(&http);
    host = h2o_config_register_host(&http, h2o_iovec_init(H2O_STRLIT("default")), 65535);
    h2o_create_handler(&host->fallback_path, sizeof(h2o_handler_t))->on_req = on_request;
    h2o_context_init(&context, h2o_evloop_create(), &http);
    timers_init(&timers, context.loop);
    connections_init(&connections, &timers,
                     &(struct connections_options){
                         .max = 16, .idle_ms = 75000, .request_ms = 10000, .trusted = &trusted});
    connections.on_closed = on_connection_closed;
    cr_assert_eq(listener_open(&listener, &connections, &context,
                               &(struct listener_options){.address = "127.0.0.1", .port = port}),
                 ST_OK);
    cr_assert(listener_listen(&listener));
    client = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(connect(client, (const struct sockaddr *)&to, sizeof(to)), 0);
}

static void step(int max_ms)
{
    cr_assert_eq(h2o_evloop_run(context.loop, max_ms), 0);
}

static int64_t deadline_us(void)
{
    return clock_mono_us() + limit_scaled(INT64_C(30) * 1000 * 1000);
}

/* Runs the loop until `condition` holds, for 30 s at most. */
#define STEP_UNTIL(condition)                                                                      \
    do {                                                                                           \
        const int64_t until_us = deadline_us();                                                    \
                                                                                                   \
        while (!(condition) && clock_mono_us() < until_us)                                         \
            step(10);                                                                              \
        cr_assert(condition);                                                                      \
    } while (0)

static void await_request(int nth)
{
    STEP_UNTIL(n_requests >= nth);
    cr_assert_eq(n_requests, nth);
}

static void tear_down(void)
{
    close(client);
    connections_shut_down(&connections);
    STEP_UNTIL(connections.n == 0);
    listener_close(&listener);
    step(0); /* h2o frees closed sockets at the start of its next step */
    timers_release(&timers);
    h2o_context_dispose(&context);
    h2o_config_dispose(&http);
}

TestSuite(listener, .init = set_up, .fini = tear_down);

static void ask(const char *path)
{
    char text[256];
    const int n = snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", path);

    cr_assert_eq(send(client, text, (size_t)n, 0), n);
}

static void answer_with(const char *body, size_t n)
{
    static h2o_generator_t generator = {NULL, NULL};
    h2o_iovec_t part = {.base = (char *)body, .len = n};

    waiting->res.status = 200;
    waiting->res.reason = "OK";
    waiting->res.content_length = n;
    h2o_start_response(waiting, &generator);
    h2o_send(waiting, &part, 1, H2O_SEND_STATE_FINAL);
}

static void answer(void)
{
    answer_with("yes", 3);
}

static void await_response(void)
{
    struct pollfd readable = {.fd = client, .events = POLLIN};

    step(0);
    cr_assert_eq(poll(&readable, 1, 30000), 1);
}

/* Reads a response that answer() has sent. */
static void expect_answer(void)
{
    char text[1024];
    ssize_t n;

    await_response();
    n = recv(client, text, sizeof(text) - 1, MSG_DONTWAIT);
    cr_assert_gt(n, 3);
    text[n] = '\0';
    cr_expect_eq(strncmp(text, "HTTP/1.1 200", 12), 0, "%s", text);
    cr_expect_str_eq(text + n - 3, "yes");
}

Test(listener, keeps_a_connection_in_epoll_from_one_request_to_the_next)
{
    int before = 0;

    for (int i = 1; i <= 10; i++) {
        ask("/");
        await_request(i);
        if (i == 1)
            before = n_epoll_ctl;
        cr_assert_gt(before, 0, "h2o calls another epoll_ctl()");
        step(0);
        answer();
        expect_answer();
    }
    cr_expect_eq(n_epoll_ctl, before);
}

Test(listener, leaves_what_comes_early_in_the_socket_and_the_request_as_it_is)
{
    enum { EARLY = 30 };
    char path[200] = "/";
    h2o_socket_t *sock;
    size_t n_input;
    int before;

    memset(path + 1, 'a', sizeof(path) - 2);
    ask("/first");
    await_request(1);
    step(0);
    sock = connection_socket(waiting->conn);
    n_input = sock->input->size;
    before = n_epoll_ctl;
    for (int i = 0; i < EARLY; i++)
        ask(path);
    STEP_UNTIL(n_epoll_ctl > before);
    for (int i = 0; i < 10; i++)
        step(1);
    cr_expect_eq(n_epoll_ctl - before, 1, "removed once: from then on nothing wakes the loop");
    cr_expect_eq(sock->input->size, n_input, "read, and so perhaps moved");
    cr_expect_eq(n_requests, 1);
    cr_expect(h2o_memis(waiting->input.path.base, waiting->input.path.len, H2O_STRLIT("/first")));
    answer();
    expect_answer();
    for (int i = 0; i < EARLY; i++) {
        await_request(2 + i);
        cr_expect(h2o_memis(waiting->input.path.base, waiting->input.path.len, path, strlen(path)));
        answer();
        expect_answer();
    }
}

Test(listener, answers_a_client_that_closed_its_side_early)
{
    int before;

    ask("/");
    await_request(1);
    step(0);
    before = n_epoll_ctl;
    cr_assert_eq(shutdown(client, SHUT_WR), 0);
    STEP_UNTIL(n_epoll_ctl > before);
    answer();
    expect_answer();
    STEP_UNTIL(connections.n == 0);
}

/* The kernel resets the connection because the client never read the first response. */
Test(listener, closes_when_the_client_reset_the_connection_before_the_response)
{
    int before;

    ask("/first");
    await_request(1);
    answer();
    await_response();
    ask("/second");
    await_request(2);
    step(0);
    before = n_epoll_ctl;
    close(client);
    client = -1;
    STEP_UNTIL(n_epoll_ctl > before);
    answer();
    STEP_UNTIL(connections.n == 0);
}

/* Reads a response with a body of that size, which the loop is still writing. */
static void take_response(size_t n_body)
{
    static char taken[256 * 1024];
    const int64_t until_us = deadline_us();
    size_t n = 0, whole = SIZE_MAX;

    while (n < whole) {
        const ssize_t got = recv(client, taken, sizeof(taken) - 1, MSG_DONTWAIT);

        cr_assert(got > 0 || (got < 0 && errno == EAGAIN), "%zu bytes, then %zd: %s", n, got,
                  got < 0 ? strerror(errno) : "closed");
        cr_assert_lt(clock_mono_us(), until_us, "only %zu bytes", n);
        step(1);
        if (got < 0)
            continue;
        if (n == 0) {
            taken[got] = '\0';
            cr_assert_not_null(strstr(taken, "\r\n\r\n"));
            whole = (size_t)(strstr(taken, "\r\n\r\n") + 4 - taken) + n_body;
        }
        n += (size_t)got;
    }
    cr_assert_eq(n, whole);
}

Test(listener, answers_what_comes_while_a_response_is_still_being_written)
{
    enum { LARGE = 8 * 1024 * 1024 }; /* more than both sockets hold */
    char *const body = calloc(1, LARGE);

    ask("/");
    await_request(1);
    step(0);
    answer_with(body, LARGE);
    step(0);
    ask("/next");
    step(10);
    cr_assert_eq(n_requests, 1, "not before the first has its response");
    take_response(LARGE);
    await_request(2);
    answer();
    expect_answer();
    free(body);
}

/* -- connections that are shut down ---------------------------------------------------------- */

enum { IDLE_US = 1000000 };

static char folder[] = "/tmp/listener-test-XXXXXX";

/* From another address, since the first one has all connections that it may have. */
static int connect_newcomer(void)
{
    const struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000002u)};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);

    cr_assert_eq(bind(fd, (const struct sockaddr *)&from, sizeof(from)), 0);
    cr_assert_eq(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

/* The client's connection, the only one allowed, has been idle for so long that it may be shut
   down; a newcomer waits, whom the listener does not see before make_room(). */
static int fill(void)
{
    int64_t idle_us;
    int newcomer;

    STEP_UNTIL(connections.n == 1);
    idle_us = clock_mono_us();
    connections.max = 1;
    listener.paused = true;
    h2o_socket_read_stop(listener.sock);
    newcomer = connect_newcomer();
    STEP_UNTIL(clock_mono_us() - idle_us > IDLE_US);
    return newcomer;
}

static void make_room(void)
{
    listener_resume(&listener);
    STEP_UNTIL(!listener.paused);
    STEP_UNTIL(connections.n == 1);
}

static void expect_closed(void)
{
    char byte;

    await_response();
    cr_expect_eq(recv(client, &byte, 1, MSG_DONTWAIT), 0);
}

Test(listener, handles_no_request_whose_connection_was_shut_down_to_make_room)
{
    const int newcomer = fill();

    ask("/"); /* the kernel has it, h2o has not read it */
    make_room();
    cr_expect_eq(n_requests, 0, "it could not be answered");
    expect_closed();
    close(newcomer);
}

/* Or clients that send slowly could use up all connections. */
Test(listener, makes_room_in_place_of_a_client_that_takes_long_to_send_a_request)
{
    static const char begin[] = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345";
    int newcomer;

    cr_assert_eq(send(client, begin, sizeof(begin) - 1, 0), sizeof(begin) - 1);
    newcomer = fill();
    cr_assert_eq(send(client, "67890", 5, 0), 5);
    make_room();
    cr_expect_eq(n_requests, 0);
    expect_closed();
    close(newcomer);
}

/* -- time limits ----------------------------------------------------------------------------- */

enum { SHORT_MS = 200, LONG_MS = 600000 };

static void set_limits(int64_t idle_ms, int64_t request_ms)
{
    connections.idle_ms = idle_ms;
    connections.request_ms = request_ms;
}

static void run_for(int64_t ms)
{
    const int64_t until_us = clock_mono_us() + ms * 1000;

    while (clock_mono_us() < until_us)
        step(10);
}

static void ask_and_answer(int nth)
{
    ask("/");
    await_request(nth);
    answer();
    expect_answer();
}

/* Steps until the client's connection is closed, which must take SHORT_MS from `from_us` on. */
static void expect_closed_after_the_limit(int64_t from_us)
{
    STEP_UNTIL(connections.n == 0);
    cr_expect_geq(clock_mono_us() - from_us, (SHORT_MS - 20) * 1000);
    expect_closed();
}

Test(listener, closes_a_connection_that_is_idle_for_too_long)
{
    int64_t from_us;

    set_limits(SHORT_MS, LONG_MS);
    run_for(2 * (int64_t)SHORT_MS);
    cr_expect_eq(connections.n, 1, "its first request has the other limit");
    from_us = clock_mono_us();
    ask_and_answer(1);
    expect_closed_after_the_limit(from_us);
}

Test(listener, keeps_an_idle_connection_for_longer_than_a_request_may_take)
{
    set_limits(LONG_MS, SHORT_MS);
    for (int i = 1; i <= 3; i++) {
        ask_and_answer(i);
        run_for(2 * (int64_t)SHORT_MS);
    }
    cr_expect_eq(connections.n, 1);
}

Test(listener, gives_a_request_its_time_from_its_first_byte_on)
{
    static const char begin[] = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345";
    int64_t from_us;

    set_limits(LONG_MS, SHORT_MS);
    ask_and_answer(1);
    run_for(2 * (int64_t)SHORT_MS);
    from_us = clock_mono_us();
    cr_assert_eq(send(client, "P", 1, 0), 1);
    run_for(SHORT_MS / 4);
    cr_assert_eq(send(client, begin + 1, sizeof(begin) - 2, 0), sizeof(begin) - 2);
    run_for(SHORT_MS / 4);
    cr_assert_eq(send(client, "6", 1, 0), 1, "more bytes give it no more time");
    expect_closed_after_the_limit(from_us);
    cr_expect_eq(n_requests, 1);
}

Test(listener, gives_the_first_request_its_time_from_the_accept_on)
{
    const int64_t from_us = clock_mono_us();

    set_limits(LONG_MS, SHORT_MS);
    STEP_UNTIL(connections.n == 1);
    expect_closed_after_the_limit(from_us);
}

/* Of two requests that arrive together, the second one only in part. */
Test(listener, gives_what_comes_after_a_request_its_time_from_the_response_on)
{
    static const char both[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP";
    int64_t from_us;

    set_limits(LONG_MS, SHORT_MS);
    cr_assert_eq(send(client, both, sizeof(both) - 1, 0), sizeof(both) - 1);
    await_request(1);
    from_us = clock_mono_us();
    answer();
    expect_answer();
    expect_closed_after_the_limit(from_us);
}

Test(listener, answers_a_request_that_arrives_as_its_idle_connection_ends)
{
    ask_and_answer(1);
    run_for(20);
    connections_end_idle(&connections);
    ask("/"); /* h2o has not looked for more yet */
    await_request(2);
    answer();
    expect_answer();
    STEP_UNTIL(connections.n == 0);
}

Test(listener, answers_a_request_that_waits_as_its_idle_connection_would_end)
{
    ask_and_answer(1);
    run_for(20);
    ask("/");
    connections_end_idle(&connections);
    await_request(2);
    answer();
    expect_answer();
    run_for(20);
    cr_expect_eq(connections.n, 1, "it is not idle");
    connections_end_idle(&connections);
    STEP_UNTIL(connections.n == 0);
    expect_closed();
}

Test(listener, takes_the_connections_that_wait_as_it_closes)
{
    int late = socket(AF_INET, SOCK_STREAM, 0);

    STEP_UNTIL(connections.n == 1);
    connections.max_of_one = 2;
    cr_assert_eq(connect(late, (const struct sockaddr *)&to, sizeof(to)), 0);
    listener_close(&listener);
    close(client);
    client = late;
    ask_and_answer(1);
}

/* -- connections of one address -------------------------------------------------------------- */

Test(listener, refuses_one_more_connection_of_an_address_whose_others_are_busy)
{
    const int second = socket(AF_INET, SOCK_STREAM, 0);
    char byte;

    cr_assert_eq(connections.max_of_one, 1);
    ask("/");
    await_request(1);
    cr_assert_eq(connect(second, (const struct sockaddr *)&to, sizeof(to)), 0);
    run_for(20);
    cr_expect_eq(recv(second, &byte, 1, MSG_DONTWAIT), 0);
    answer();
    expect_answer();
    close(second);
}

Test(listener, lets_an_idle_connection_make_room_for_another_of_its_address)
{
    const int first = client;
    int64_t from_us;
    char byte;

    ask_and_answer(1);
    from_us = clock_mono_us();
    STEP_UNTIL(clock_mono_us() - from_us > IDLE_US);
    client = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(connect(client, (const struct sockaddr *)&to, sizeof(to)), 0);
    ask_and_answer(2);
    cr_expect_eq(recv(first, &byte, 1, MSG_DONTWAIT), 0);
    cr_expect_eq(connections.n, 1);
    close(first);
}

/* -- all at once ----------------------------------------------------------------------------- */

Test(listener, handles_no_request_after_all_connections_were_shut_down)
{
    STEP_UNTIL(connections.n == 1);
    ask("/");
    connections_shut_down(&connections);
    STEP_UNTIL(connections.n == 0);
    cr_expect_eq(n_requests, 0);
    expect_closed();
}

static struct tls_certificate *make_tls(void)
{
    static char certificate[64], key[64];
    struct tls_certificate *tls;
    char text[128];

    cr_assert_not_null(mkdtemp(folder));
    snprintf(text, sizeof(text), "tests/support/make-certificates %s", folder);
    cr_assert_eq(system(text), 0);
    snprintf(certificate, sizeof(certificate), "%s/good.pem", folder);
    snprintf(key, sizeof(key), "%s/server.key", folder);
    tls = tls_certificate_open(certificate, key);
    snprintf(text, sizeof(text), "rm -r %s", folder);
    cr_assert_eq(system(text), 0);
    cr_assert_not_null(tls);
    return tls;
}

/* A client over TLS that has connected. */
static SSL *shake_hands(SSL_CTX *client_tls)
{
    SSL *ssl = SSL_new(client_tls);
    const int64_t until_us = deadline_us();
    int done;

    cr_assert_eq(fcntl(client, F_SETFL, O_NONBLOCK), 0);
    cr_assert_eq(SSL_set_fd(ssl, client), 1);
    while ((done = SSL_connect(ssl)) != 1) {
        cr_assert_eq(SSL_get_error(ssl, done), SSL_ERROR_WANT_READ);
        cr_assert_lt(clock_mono_us(), until_us);
        step(1);
    }
    for (int i = 0; i < 10; i++)
        step(1); /* the server's side, too */
    return ssl;
}

Test(listener, handles_no_request_over_tls_whose_connection_was_shut_down)
{
    static const char request[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    SSL_CTX *client_tls = SSL_CTX_new(TLS_client_method());
    char text[64];
    int newcomer;
    SSL *ssl;

    signal(SIGPIPE, SIG_IGN); /* as the services do: h2o cannot send its closing alert */
    listener.certificate = make_tls();
    ssl = shake_hands(client_tls);
    newcomer = fill();
    cr_assert_eq(SSL_write(ssl, request, sizeof(request) - 1), sizeof(request) - 1);
    make_room();
    cr_expect_eq(n_requests, 0);
    cr_expect_leq(SSL_read(ssl, text, sizeof(text)), 0);
    close(newcomer);
    STEP_UNTIL(connections.n == 0);
    SSL_free(ssl);
    SSL_CTX_free(client_tls);
    tls_certificate_free(listener.certificate);
    listener.certificate = NULL;
}

/* A client over TLS is told the end of a connection that was idle for too long. */
Test(listener, ends_an_idle_connection_over_tls_with_an_alert)
{
    static const char request[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    SSL_CTX *client_tls = SSL_CTX_new(TLS_client_method());
    char text[1024];
    SSL *ssl;
    int got;

    listener.certificate = make_tls();
    ssl = shake_hands(client_tls);
    set_limits(SHORT_MS, LONG_MS);
    cr_assert_eq(SSL_write(ssl, request, sizeof(request) - 1), sizeof(request) - 1);
    await_request(1);
    answer();
    STEP_UNTIL(connections.n == 0);
    while ((got = SSL_read(ssl, text, sizeof(text))) > 0)
        ; /* the response */
    cr_expect_eq(SSL_get_error(ssl, got), SSL_ERROR_ZERO_RETURN);
    SSL_free(ssl);
    SSL_CTX_free(client_tls);
    tls_certificate_free(listener.certificate);
    listener.certificate = NULL;
}
