/* The bus while its server is down, hangs, comes back or refuses the connection. */
#include <arpa/inet.h>
#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/metrics.h"
#include "tests/unit/common/bus/bus_fixture.h"

enum { TIMEOUT_MS = 30000 };

/* Voluntary context switches of this thread: how often it slept or waited for a lock. */
static long waits_of_this_thread(void)
{
    struct rusage usage;

    cr_assert_eq(getrusage(RUSAGE_THREAD, &usage), 0);
    return usage.ru_nvcsw;
}

struct link {
    atomic_int ups, downs;
};

static void on_link(void *closure, bool up)
{
    struct link *link = closure;
    atomic_fetch_add(up ? &link->ups : &link->downs, 1);
}

TestSuite(bus_faults, .fini = stop_server);

Test(bus_faults, connects_once_the_server_comes_up)
{
    nats_server_prepare(&server, NULL);
    struct bus *both = open_end(0);
    struct bus_mailbox *mailbox = bus_serve(both, "v1.thing.*", "thing");
    cr_assert_not(WITHIN(300, bus_is_up(both)));
    cr_assert_eq(bus_publish(both, "v1.thing.do", NULL, NULL, 0, STR("early")), ST_UNAVAILABLE);
    nats_server_start(&server);
    cr_assert(EVENTUALLY(bus_is_up(both)));
    cr_assert_eq(bus_publish(both, "v1.thing.do", NULL, NULL, 0, STR("late")), ST_OK);
    struct bus_message *message = NULL;
    cr_assert(EVENTUALLY((message = bus_take(mailbox)) != NULL));
    cr_assert(is(bus_message_body(message), "late"));
    bus_message_free(message);
    free_clients();
}

Test(bus_faults, recovers_after_a_kill_and_forgets_refused_keys)
{
    struct link link = {0};
    atomic_int notices = 0;
    struct replies replies = {0};
    start_server();
    struct bus *both = clients[0] = bus_connect(&(struct bus_options){
        .url = server.url, .name = "test", .on_link = on_link, .closure = &link});
    struct bus_mailbox *mailbox = bus_serve(both, "v1.thing.*", "thing");
    bus_listen(both, "v1.notice.x", count_notice, &notices);
    bus_open_inbox(both, on_reply, is_always_awaited, &replies);
    cr_assert(EVENTUALLY(bus_is_up(both) && atomic_load(&link.ups) == 1));

    nats_server_kill(&server);
    cr_assert(EVENTUALLY(!bus_is_up(both) && atomic_load(&link.downs) == 1));
    cr_assert_eq(bus_socket(both), -1);
    int waits = 0;
    for (int i = 0; i < 200; i++) {
        long before = waits_of_this_thread();
        cr_assert_eq(bus_publish(both, "v1.thing.do", NULL, NULL, 0, STR("down")), ST_UNAVAILABLE);
        cr_assert_eq(bus_request(both, "v1.thing.do", 1, NULL, 0, STR("down")), ST_UNAVAILABLE);
        waits += waits_of_this_thread() > before;
        pump();
    }
    cr_assert_lt(waits, 20, "%d of 200 waited, for more than a lock now and then", waits);

    nats_server_start(&server);
    cr_assert(EVENTUALLY(bus_is_up(both) && atomic_load(&link.ups) == 2));
    cr_assert_eq(bus_publish(both, "v1.thing.do", NULL, NULL, 0, STR("up")), ST_OK);
    cr_assert_eq(bus_publish(both, "v1.notice.x", NULL, NULL, 0, STR(BODY)), ST_OK);
    cr_assert_eq(bus_request(both, "v1.nobody.do", 5, NULL, 0, STR("")), ST_OK);
    struct bus_message *message = NULL;
    cr_assert(EVENTUALLY((message = bus_take(mailbox)) != NULL));
    cr_assert(is(bus_message_body(message), "up"));
    bus_message_free(message);
    cr_assert(EVENTUALLY(atomic_load(&notices) == 1 && atomic_load(&replies.n) == 1));
    cr_assert_eq(replies.handle[0], 5);
    cr_assert_eq(bus_waiting(mailbox), 0);
    free_clients();
}

/* nats-server would deny the reply to a stock client over another connection, and count it. */
Test(bus_faults, keeps_a_plain_reply_for_the_connection_that_the_message_came_by)
{
    start_server();
    struct bus *both = open_end(0);
    cr_assert(EVENTUALLY(bus_is_up(both)));
    struct bus_mailbox *mailbox = bus_serve(both, "v1.thing.*", "thing");
    struct bus_message *before = NULL, *after = NULL;
    cr_assert_eq(bus_publish(both, "v1.thing.do", "stock.inbox", NULL, 0, STR("")), ST_OK);
    cr_assert(EVENTUALLY((before = bus_take(mailbox)) != NULL));

    nats_server_kill(&server);
    cr_assert(EVENTUALLY(!bus_is_up(both)));
    nats_server_start(&server);
    cr_assert(EVENTUALLY(bus_is_up(both)));
    cr_assert_eq(bus_reply(both, before, NULL, 0, STR("")), ST_UNAVAILABLE);
    cr_assert_eq(bus_publish(both, "v1.thing.do", "stock.inbox", NULL, 0, STR("")), ST_OK);
    cr_assert(EVENTUALLY((after = bus_take(mailbox)) != NULL));
    cr_assert_eq(bus_reply(both, after, NULL, 0, STR("")), ST_OK);
    bus_message_free(before);
    bus_message_free(after);
    free_clients();
}

/* As an event loop uses it. */
Test(bus_faults, says_that_the_socket_is_another_one_although_its_number_may_be_the_same)
{
    start_server();
    struct link link = {0};
    struct bus *bus = bus_connect(&(struct bus_options){
        .url = server.url, .name = "test", .on_link = on_link, .closure = &link});
    struct pollfd fds[2] = {{.fd = bus_changed_fd(bus), .events = POLLIN}};
    bool is_another = false;
    while (!bus_is_up(bus)) {
        cr_assert_eq(poll(fds, 1, TIMEOUT_MS), 1);
        (void)bus_changed(bus);
    }
    (void)bus_changed(bus);
    cr_assert_not(bus_changed(bus));
    bus_wake(bus);
    cr_assert_not(bus_changed(bus));

    nats_server_kill(&server);
    nats_server_start(&server);
    fds[1] = (struct pollfd){.fd = bus_socket(bus), .events = POLLIN};
    cr_assert_eq(poll(fds + 1, 1, TIMEOUT_MS), 1);
    bus_process(bus); /* reads the end of file */
    cr_assert(bus_changed(bus));
    cr_assert_eq(bus_socket(bus), -1);
    while (!bus_is_up(bus)) {
        cr_assert_eq(poll(fds, 1, TIMEOUT_MS), 1);
        is_another = bus_changed(bus);
    }
    cr_assert(is_another);
    cr_assert_eq(atomic_load(&link.ups), 2);
    cr_assert_not(bus_changed(bus));
    bus_free(bus);
}

Test(bus_faults, drops_unflushed_messages_when_the_server_dies)
{
    start_server();
    struct bus *both = open_end(0);
    struct bus_mailbox *mailbox = bus_serve(both, "v1.thing.*", "thing");
    cr_assert(EVENTUALLY(bus_is_up(both)));
    nats_server_kill(&server);
    enum status st = bus_publish(both, "v1.thing.do", NULL, NULL, 0, STR("lost"));
    cr_assert(st == ST_OK || st == ST_UNAVAILABLE);
    cr_assert(EVENTUALLY(!bus_is_up(both)));
    nats_server_start(&server);
    cr_assert(EVENTUALLY(bus_is_up(both)));
    cr_assert_eq(bus_publish(both, "v1.thing.do", NULL, NULL, 0, STR("new")), ST_OK);
    struct bus_message *message = NULL;
    cr_assert(EVENTUALLY((message = bus_take(mailbox)) != NULL));
    cr_assert(is(bus_message_body(message), "new"));
    bus_message_free(message);
    free_clients();
}

/* nats.c keeps what was published until it reconnects, and ending a subscription makes it send. */
Test(bus_faults, drops_it_even_if_it_stops_serving_in_between)
{
    start_server();
    struct bus *both = open_end(0);
    struct bus_mailbox *mailbox = bus_serve(both, "v1.thing.*", "thing");
    struct bus_mailbox *stopped = bus_serve(both, "v1.other.*", "other");
    struct bus_message *message = NULL;
    cr_assert(EVENTUALLY(bus_is_up(both)));
    pump();
    nats_server_kill(&server);
    cr_assert_eq(bus_publish(both, "v1.thing.do", NULL, NULL, 0, STR("lost")), ST_OK);
    for (int64_t until_us = clock_mono_us() + TIMEOUT_MS * 1000;
         bus_is_up(both) && clock_mono_us() < until_us;)
        bus_process(both);
    bus_stop_serving(stopped);
    nats_server_start(&server);
    cr_assert(EVENTUALLY(bus_is_up(both)));
    cr_assert_eq(bus_publish(both, "v1.thing.do", NULL, NULL, 0, STR("new")), ST_OK);
    cr_assert(EVENTUALLY((message = bus_take(mailbox)) != NULL));
    cr_assert(is(bus_message_body(message), "new"));
    bus_message_free(message);
    bus_stop_serving(stopped);
    cr_assert(EVENTUALLY(bus_is_drained(stopped)));
    free_clients();
}

Test(bus_faults, limits_the_output_buffered_for_a_server_that_does_not_read)
{
    static char large[64 * 1024];
    start_server();
    struct bus *bus = open_end(0);
    cr_assert(EVENTUALLY(bus_is_up(bus)));
    nats_server_pause(&server);
    size_t accepted = 0;
    enum status st = ST_OK;
    while (st == ST_OK && accepted < 64 * 1024 * 1024) {
        st = bus_publish(bus, "v1.thing.do", NULL, NULL, 0, (struct str){large, sizeof(large)});
        accepted += sizeof(large);
        (void)bus_flush(bus);
    }
    cr_assert_eq(st, ST_UNAVAILABLE);
    nats_server_resume(&server);
    cr_assert(EVENTUALLY(bus_flush(bus)));
    cr_assert_eq(bus_publish(bus, "v1.thing.do", NULL, NULL, 0, STR("")), ST_OK);
    free_clients();
}

Test(bus_faults, gets_past_a_server_that_accepts_and_stays_silent)
{
    nats_server_prepare(&server, NULL);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(server.port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1, silent = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(silent, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    cr_assert_eq(bind(silent, (struct sockaddr *)&address, sizeof(address)), 0);
    cr_assert_eq(listen(silent, 8), 0);

    int64_t began_us = clock_mono_us();
    struct bus *bus = open_end(0);
    int64_t took_us = clock_mono_us() - began_us;
    struct pollfd fd = {.fd = silent, .events = POLLIN};
    cr_assert_eq(poll(&fd, 1, TIMEOUT_MS), 1);
    /* The bus abandons an attempt by itself, and bus_connect() has not waited for that. */
    int attempt = accept(silent, NULL, NULL);
    fd = (struct pollfd){.fd = attempt, .events = POLLIN};
    cr_assert_eq(poll(&fd, 1, TIMEOUT_MS), 1);
    cr_assert_lt(took_us, (clock_mono_us() - began_us) / 2);
    cr_assert_not(bus_is_up(bus));
    close(attempt);
    close(silent);
    nats_server_start(&server);
    cr_assert(EVENTUALLY(bus_is_up(bus)));
    free_clients();
}

static struct bus *connect_as(const char *credentials, const char *inbox_prefix)
{
    static char url[128];
    (void)snprintf(url, sizeof(url), "nats://%s@127.0.0.1:%u", credentials, server.port);
    return clients[0] = bus_connect(
               &(struct bus_options){.url = url, .name = "test", .inbox_prefix = inbox_prefix});
}

static void restart_with(const char *config)
{
    struct nats_server old = server;
    nats_server_stop(&server);
    nats_server_prepare(&server, config);
    server.port = old.port;
    nats_server_start(&server);
}

Test(bus_faults, continues_after_refusals_at_first_and_later)
{
    const char *ours = "authorization {user: a, password: right}";
    const char *other = "authorization {user: a, password: other}";
    struct bus_message *message = NULL;
    nats_server_prepare(&server, other);
    nats_server_start(&server);
    struct bus *bus = connect_as("a:right", NULL);
    struct bus_mailbox *mailbox = bus_serve(bus, "v1.thing.*", "thing");
    cr_assert_not(WITHIN(500, bus_is_up(bus)));
    restart_with(ours);
    cr_assert(EVENTUALLY(bus_is_up(bus)));
    restart_with(other);
    cr_assert(EVENTUALLY(!bus_is_up(bus)));
    cr_assert_not(WITHIN(1000, bus_is_up(bus)));
    restart_with(ours);
    cr_assert(EVENTUALLY(bus_is_up(bus)));
    cr_assert_eq(bus_publish(bus, "v1.thing.do", NULL, NULL, 0, STR(BODY)), ST_OK);
    cr_assert(EVENTUALLY((message = bus_take(mailbox)) != NULL));
    bus_message_free(message);
    free_clients();
}

static bool metrics_say(const char *line)
{
    struct arena arena;
    struct buf out;
    arena_init(&arena, 1024 * 1024);
    buf_init(&out, &arena, 4096);
    metrics_render(&out);
    bool found = memmem(out.p, out.n, line, strlen(line)) != NULL;
    arena_release(&arena);
    return found;
}

Test(bus_faults, counts_denied_permissions_and_uses_only_its_own_inbox)
{
    struct replies replies = {0};
    nats_server_prepare(&server, "authorization {users: [{user: a, password: b, permissions: {"
                                 "publish: [\"v1.mine.>\"], subscribe: [\"_INBOX_a.>\"]}}]}");
    nats_server_start(&server);
    bus_metrics_open();
    struct bus *bus = connect_as("a:b", "_INBOX_a");
    bus_open_inbox(bus, on_reply, is_always_awaited, &replies);
    cr_assert(EVENTUALLY(bus_is_up(bus)));
    cr_assert_eq(bus_request(bus, "v1.mine.get", 3, NULL, 0, STR("")), ST_OK);
    cr_assert(EVENTUALLY(atomic_load(&replies.n) == 1));
    cr_assert_eq(replies.kind[0], BUS_NO_RESPONDERS);
    cr_assert_eq(bus_permission_violations(bus), 0);
    cr_assert_eq(bus_publish(bus, "v1.others.do", NULL, NULL, 0, STR("")), ST_OK);
    cr_assert(EVENTUALLY(bus_permission_violations(bus) == 1));
    (void)bus_serve(bus, "v1.others.*", "x");
    cr_assert(EVENTUALLY(bus_permission_violations(bus) == 2));
    cr_assert(EVENTUALLY(metrics_say("\nconversations_bus_permission_violations_total 2\n")));
    cr_assert(bus_is_up(bus));
    free_clients();
}

static int open_files(void)
{
    DIR *files = opendir("/proc/self/fd");
    int n = 0;

    cr_assert_not_null(files);
    while (readdir(files) != NULL)
        n++;
    closedir(files);
    return n;
}

/* Which sockets it closes itself differs from one version of nats.c to another. */
Test(bus_faults, leaves_no_socket_open)
{
    int before = 0;

    start_server();
    for (int i = 0; i < 3; i++) {
        const struct bus *bus = open_end(0);

        cr_assert(EVENTUALLY(bus_is_up(bus)));
        nats_server_kill(&server);
        cr_assert(EVENTUALLY(!bus_is_up(bus)));
        nats_server_start(&server);
        cr_assert(EVENTUALLY(bus_is_up(bus)));
        free_clients();
        if (i == 0)
            before = open_files(); /* with what nats.c keeps open */
        cr_expect_eq(open_files(), before);
    }
}

/* As does whether it asks the server for an answer first, which takes half a second. */
Test(bus_faults, takes_no_time_to_end)
{
    int64_t least_us = INT64_MAX;

    start_server();
    for (int i = 0; i < 5; i++) {
        const struct bus *bus = open_end(0);
        int64_t began_us;

        cr_assert(EVENTUALLY(bus_is_up(bus)));
        began_us = clock_mono_us();
        free_clients();
        if (clock_mono_us() - began_us < least_us)
            least_us = clock_mono_us() - began_us;
    }
    cr_expect_lt(least_us, 100 * 1000, "%lld us", (long long)least_us);
}

Test(bus_faults, refuses_unusable_options)
{
    cr_assert_null(connect_to(""));
    cr_assert_null(bus_connect(
        &(struct bus_options){.url = "tls://127.0.0.1:4222",
                              .name = "test",
                              .settings = &(struct bus_settings){.ca_file = "/nonexistent.pem"}}));
}
