/* Clients that ask for much and take nothing. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "tests/support/api.h"
#include "tests/support/replica.h"
#include "tests/support/sql.h"

TestSuite(slow_reader, .init = api_open, .timeout = 120);

/* A page is 4 MB: together they are more than a loop holds for its clients. */
enum { PAGES = 24, PAGE_LEAST = 4 * 1000 * 1000, PATIENCE_MS = 10000, SEND_US = 10 * 1000 * 1000 };

#define SEARCH                                                                                     \
    "{\"query\":{\"field\":\"contact.external_id\",\"operator\":\"=\",\"value\":\"u\"},"           \
    "\"pagination\":{\"per_page\":100}}"

static void make_a_large_page(const struct org *org)
{
    new_conversation(org, "first", "u");
    cr_assert_eq(
        sql_integer("WITH made AS (INSERT INTO conversation.conversations (organization_id, id, "
                    "external_id, contact_id, channel, status, custom_attributes, created_at, "
                    "updated_at) SELECT organization_id, gen_random_uuid(), 'e' || i, contact_id, "
                    "channel, status, (SELECT jsonb_object_agg('k' || k, repeat(chr(128512), 500)) "
                    "FROM generate_series(1, 20) k), created_at, updated_at FROM "
                    "conversation.conversations, generate_series(1, 100) i WHERE organization_id = "
                    "$1::uuid RETURNING 1) SELECT count(*) FROM made",
                    org->id, NULL),
        100);
}

/* The kernel would take most of a page for a client with a larger buffer. */
static int connect_narrowly(int port)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), room = 4096;

    cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room)), 0);
    cr_assert_eq(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

/* Asks, and returns when the answer has begun. */
static int ask(const struct replica *gateway, const struct org *org)
{
    const char *request =
        format("POST /api/v1/conversations/search HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
               "%s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n" SEARCH,
               org->read_key, strlen(SEARCH));
    struct pollfd fd = {.fd = connect_narrowly(gateway->port), .events = POLLIN};

    cr_assert_eq(send(fd.fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
    cr_assert_eq(poll(&fd, 1, PATIENCE_MS), 1);
    return fd.fd;
}

Test(slow_reader, those_who_wait_longest_are_cut_off_before_memory_is_short)
{
    struct replica gateway;
    int fds[PAGES];
    struct answer *page;
    struct org org;
    int64_t start_us;
    long long cut_off;

    org_new(&org);
    make_a_large_page(&org);
    replica_start(&gateway, (const char *const[]){NULL});
    start_us = clock_mono_us();
    for (int i = 0; i < PAGES; i++)
        fds[i] = ask(&gateway, &org);
    cut_off = replica_metric(&gateway, "conversations_gateway_slow_readers_total");
    cr_assert_gt(cut_off, 0, "all are held after %lld ms",
                 (long long)(clock_mono_us() - start_us) / 1000);
    if (clock_mono_us() - start_us < SEND_US)
        cr_assert_lt(cut_off, PAGES / 2, "more are cut off than need be");
    page = http_send(&(struct http_request){.method = "POST",
                                            .base = gateway.base,
                                            .path = "/conversations/search",
                                            .key = org.read_key,
                                            .body = SEARCH});
    cr_assert_eq(page->status, 200);
    cr_assert_gt(page->body_n, PAGE_LEAST);
    for (int i = 0; i < PAGES; i++)
        close(fds[i]);
    replica_stop(&gateway);
}
