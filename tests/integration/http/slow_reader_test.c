/* Clients that request large pages and do not read them. */
#include <criterion/criterion.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "tests/support/api_client.h"
#include "tests/support/http_connection.h"
#include "tests/support/large_pages.h"
#include "tests/support/replica.h"

TestSuite(slow_reader, .init = stack_share);

/* A page is 4 MB: together, the pages exceed the send budget of an event loop. */
enum {
    PAGES = 24,
    PAGE_MIN = 4 * 1000 * 1000,
    TIMEOUT_MS = 30000,
    SEND_US = 10 * 1000 * 1000,
    STATUS_LINE = 12, /* bytes, up to the status */
    TRIES = 20,
};

/* Sends a search, and returns when the response has begun, with its first bytes. */
static void ask_once(struct http_connection *reader, const struct replica *gateway,
                     const struct org *org, char begins[STATUS_LINE])
{
    const char *request = format(
        "POST /api/v1/conversations/search HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
        "%s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n" LARGE_PAGE_SEARCH,
        org->read_key, strlen(LARGE_PAGE_SEARCH));

    cr_assert(http_connection_open_narrow(reader, gateway->port));
    cr_assert(http_connection_send(reader, request, strlen(request)));
    cr_assert_eq(poll(&(struct pollfd){.fd = reader->fd, .events = POLLIN}, 1, TIMEOUT_MS), 1);
    cr_assert_eq(recv(reader->fd, begins, STATUS_LINE, MSG_PEEK | MSG_WAITALL), STATUS_LINE);
}

/* Repeats a search that is refused, as clients should: a busy machine may refuse some, and then
   there is no page to leave unread. */
static void ask(struct http_connection *reader, const struct replica *gateway,
                const struct org *org)
{
    for (int i = 0; i < TRIES; i++) {
        char begins[STATUS_LINE];

        ask_once(reader, gateway, org, begins);
        if (memcmp(begins, "HTTP/1.1 200", STATUS_LINE) == 0)
            return;
        http_connection_close(reader);
    }
    cr_assert_fail("no page in %d tries", TRIES);
}

Test(slow_reader, those_that_wait_longest_are_closed_before_memory_runs_short)
{
    struct replica gateway;
    struct http_connection readers[PAGES];
    struct client_response *page;
    struct org org;
    int64_t start_us;
    long long cut_off;

    org_new(&org);
    large_page_make(&org, "128512");
    replica_start(&gateway, (const char *const[]){NULL});
    start_us = clock_mono_us();
    for (int i = 0; i < PAGES; i++)
        ask(&readers[i], &gateway, &org);
    cut_off = replica_metric(&gateway, "conversations_gateway_slow_readers_total");
    cr_assert_gt(cut_off, 0, "all are still open after %lld ms",
                 (long long)(clock_mono_us() - start_us) / 1000);
    if (clock_mono_us() - start_us < SEND_US)
        cr_assert_lt(cut_off, PAGES / 2, "more connections are closed than necessary");
    page = http_send(&(struct client_request){.method = "POST",
                                              .base = gateway.base,
                                              .path = "/conversations/search",
                                              .key = org.read_key,
                                              .body = LARGE_PAGE_SEARCH});
    cr_assert_eq(page->status, 200);
    cr_assert_gt(page->body_n, PAGE_MIN);
    for (int i = 0; i < PAGES; i++)
        http_connection_close(&readers[i]);
    replica_stop(&gateway);
}
