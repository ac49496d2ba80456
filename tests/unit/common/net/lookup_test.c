/* When lookups call back. For an address the result is known before lookup_begin() returns. */
#include "common/net/lookup.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "tests/support/measure.h"
#include "tests/support/nameserver.h"
#include "tests/support/own_names.h"
#include "tests/support/port.h"

#define LITERAL "2001:db8::1"

static struct lookups *lookups;
static int n_told;
static size_t n_addresses;

static void on_done(void *closure, const struct address *addresses, size_t n)
{
    n_told++;
    n_addresses = n;
}

static void begin_another(void *closure, const struct address *addresses, size_t n)
{
    on_done(NULL, addresses, n);
    cr_assert_not_null(lookup_begin(lookups, LITERAL, on_done, NULL));
}

static void abandon(void *closure, const struct address *addresses, size_t n)
{
    on_done(NULL, addresses, n);
    lookup_abandon(*(struct lookup **)closure);
}

static void process(void)
{
    lookups_process(lookups);
}

static void set_up(void)
{
    lookups =
        lookups_new(&(struct dns_options){.servers = "127.0.0.1:9"}); /* nothing listens there */
    cr_assert_not_null(lookups);
}

static void tear_down(void)
{
    lookups_free(lookups);
}

TestSuite(lookup, .init = set_up, .fini = tear_down);

Test(lookup, reports_cached_results_in_the_next_step)
{
    cr_assert_not_null(lookup_begin(lookups, LITERAL, on_done, NULL));
    cr_assert_eq(n_told, 0);
    cr_assert_eq(lookups_timeout_ms(lookups, 1000), 0, "the step does not wait");
    process();
    cr_assert_eq(n_told, 1);
    cr_assert_eq(n_addresses, 1);
    process();
    cr_assert_eq(n_told, 1);
    cr_assert_eq(lookups_timeout_ms(lookups, 1000), 1000);
}

Test(lookup, reports_an_impossible_name_in_the_next_step)
{
    cr_assert_not_null(lookup_begin(lookups, "two..dots", on_done, NULL));
    cr_assert_eq(n_told, 0);
    process();
    cr_assert_eq(n_told, 1);
    cr_assert_eq(n_addresses, 0);
}

Test(lookup, runs_lookups_begun_by_a_callback_in_the_next_step)
{
    cr_assert_not_null(lookup_begin(lookups, LITERAL, begin_another, NULL));
    process();
    cr_assert_eq(n_told, 1);
    process();
    cr_assert_eq(n_told, 2);
}

Test(lookup, does_not_report_abandoned_lookups)
{
    struct lookup *second;

    lookup_abandon(lookup_begin(lookups, LITERAL, on_done, NULL));
    process();
    cr_assert_eq(n_told, 0);
    second = lookup_begin(lookups, LITERAL, on_done, NULL);
    cr_assert_not_null(lookup_begin(lookups, LITERAL, abandon, &second));
    process();
    cr_assert_eq(n_told, 1, "not of one that is done and abandoned by a callback either");
}

Test(lookup, reports_nothing_more_when_all_are_freed)
{
    cr_assert_not_null(lookup_begin(lookups, LITERAL, on_done, NULL));
    cr_assert_not_null(lookup_begin(lookups, "pending.test", on_done, NULL));
    lookups_free(lookups);
    lookups = NULL;
    cr_assert_eq(n_told, 0);
}

/* -- name servers that do not answer everything -------------------------------------------------- */

enum {
    SECOND_US = 1000 * 1000,
    ONE_SERVER_US = 3 * SECOND_US, /* until a question to one server is given up (dns.h) */
};
#define V6 "aaaa-00000000000000000000000000000001"

/* A name server that receives questions and never answers. */
static int silent_server(uint16_t *port)
{
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(at);

    cr_assert_eq(bind(fd, (const struct sockaddr *)&at, n), 0);
    cr_assert_eq(getsockname(fd, (struct sockaddr *)&at, &n), 0);
    *port = ntohs(at.sin_port);
    return fd;
}

/* Asks this one, after a silent one that has `first` as its port; 0 = it alone. */
static void use_server(uint16_t first)
{
    const uint16_t port = port_free();
    char servers[64];

    nameserver_start_at(port);
    if (first != 0)
        snprintf(servers, sizeof(servers), "127.0.0.1:%u,127.0.0.1:%u", first, port);
    else
        snprintf(servers, sizeof(servers), "127.0.0.1:%u", port);
    tear_down();
    lookups = lookups_new(&(struct dns_options){.servers = servers, .dns_only = true});
    cr_assert_not_null(lookups);
}

static void wait_and_process(int max_ms)
{
    struct pollfd p = {.fd = lookups_descriptor(lookups), .events = POLLIN};

    (void)poll(&p, 1, lookups_timeout_ms(lookups, max_ms));
    process();
}

static void expect_within(const char *name, size_t n, int64_t limit_us)
{
    const int64_t began_us = clock_mono_us();

    cr_assert_not_null(lookup_begin(lookups, name, on_done, NULL));
    while (n_told == 0)
        wait_and_process(1000);
    cr_expect_eq(n_addresses, n, "%s: %zu", name, n_addresses);
    cr_expect_lt(clock_mono_us() - began_us, limit_scaled(limit_us), "%s", name);
    n_told = 0;
}

Test(lookup, waits_only_a_while_for_the_half_that_is_not_answered)
{
    use_server(0);
    expect_within("silent-aaaa.a-127-0-0-1.test", 1, SECOND_US);
    expect_within("silent-a." V6 ".test", 1, SECOND_US);
    expect_within("a-127-0-0-1." V6 ".test", 2, SECOND_US);
}

Test(lookup, knows_localhost_by_itself)
{
    use_server(0);
    expect_within("localhost", 2, SECOND_US);
    expect_within("LocalHost", 2, SECOND_US);
}

Test(lookup, reports_nothing_found_when_a_server_says_so_or_keeps_silent)
{
    use_server(0);
    expect_within("none.test", 0, SECOND_US);
    expect_within("silent.a-127-0-0-1.test", 0, 2 * ONE_SERVER_US);
}

Test(lookup, asks_the_second_server_when_the_first_keeps_silent)
{
    uint16_t port;
    const int silent = silent_server(&port);

    use_server(port);
    expect_within("a-127-0-0-1.test", 1, ONE_SERVER_US);
    close(silent);
}

Test(lookup, finds_a_name_that_returns_while_no_question_has_been_answered)
{
    char server[32];
    uint16_t port;
    const int silent = silent_server(&port);
    struct pollfd question = {.fd = silent, .events = POLLIN};

    own_names("127.0.0.1 localhost\n", NULL);
    snprintf(server, sizeof(server), "127.0.0.1:%u", port);
    tear_down();
    lookups = lookups_new(&(struct dns_options){.servers = server});
    cr_assert_not_null(lookup_begin(lookups, "back.test", on_done, NULL));
    cr_assert_eq(poll(&question, 1, -1), 1);
    own_names_hosts("127.0.0.1 localhost\n127.0.0.1 back.test\n");
    while (n_told == 0)
        wait_and_process(1000);
    cr_expect_eq(n_addresses, 1);
    close(silent);
}

Test(lookup, can_be_stopped_while_it_waits_for_an_answer)
{
    struct lookup *pending;

    use_server(0);
    pending = lookup_begin(lookups, "silent.a-127-0-0-1.test", on_done, NULL);
    wait_and_process(100);
    cr_assert_eq(n_told, 0);
    lookup_abandon(pending);
    expect_within("a-127-0-0-1.test", 1, SECOND_US);
    cr_assert_not_null(lookup_begin(lookups, "silent.a-127-0-0-1.test", on_done, NULL));
    wait_and_process(100);
    lookups_free(lookups); /* while both questions are open */
    lookups = NULL;
    cr_assert_eq(n_told, 0);
}
