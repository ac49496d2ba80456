/* Nobody reads a gateway's log, or its disk is full: the gateway drops lines and counts them, but fails no request. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/api_client.h"
#include "tests/support/http_connection.h"
#include "tests/support/replica.h"

TestSuite(unread_log, .init = stack_share);

enum { REQUESTS = 10000, TOGETHER = 20, LOST_MS = 5000 };

static const char request[] = "GET /api/v1/ping HTTP/1.1\r\nHost: localhost\r\n\r\n";

/* Sends requests without a key: each is refused and logged. */
static int send_together(struct http_connection *client, char *bytes)
{
    struct connection_response response;
    int n = 0;

    cr_assert(http_connection_send(client, bytes, strlen(bytes)));
    for (int i = 0; i < TOGETHER; i++) {
        cr_assert(http_connection_receive(client, &response, HTTP_TIMEOUT_MS));
        cr_assert_eq(response.status, 401);
        n++;
    }
    return n;
}

static int send_all(const struct replica *gateway)
{
    struct http_connection client;
    static char bytes[TOGETHER * sizeof(request)];
    int n = 0;

    for (int i = 0; i < TOGETHER; i++)
        strcat(bytes, request);
    cr_assert(http_connection_open(&client, gateway->port));
    client.is_private = true; /* too many for the journal */
    while (n < REQUESTS)
        n += send_together(&client, bytes);
    http_connection_close(&client);
    return n;
}

/* Reads the log up to the line that counts lost lines; returns how many refusals it has. */
static int read_refusals(int fd, long long *lost)
{
    static const char word[] = "\"lines\":";
    FILE *log = fdopen(fd, "r");
    char line[4200];
    int n = 0;

    cr_assert_not_null(log);
    *lost = 0;
    while (*lost == 0) {
        cr_assert_not_null(fgets(line, sizeof(line), log), "the log ends after %d lines", n);
        n += strstr(line, "\"message\":\"authentication failed\"") != NULL;
        if (strstr(line, "log lines were lost") != NULL)
            *lost = strtoll(strstr(line, word) + strlen(word), NULL, 10);
    }
    return n;
}

Test(unread_log, costs_lines_and_no_request)
{
    struct replica gateway;
    long long dropped, lost;
    int ends[2], told;

    cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
    replica_launch_into(&gateway, ends[1],
                        (const char *const[]){"AUTH_FAILURE_LIMIT=1000000", NULL});
    replica_await(&gateway);
    cr_assert_eq(send_all(&gateway), REQUESTS);
    dropped = replica_metric(&gateway, "log_lines_dropped_total");
    cr_assert_gt(dropped, 0);
    cr_expect_eq(replica_ask(&gateway, "/readyz")->status, 200);
    told = read_refusals(ends[0], &lost);
    cr_expect_eq(lost, dropped);
    /* The lost lines may include others than refusals. */
    cr_expect_leq(told, REQUESTS);
    cr_expect_geq(told + lost, REQUESTS, "%d logged and %lld lost", told, lost);
    replica_stop(&gateway);
}

static bool has_lost_all(void *closure)
{
    return replica_metric(closure, "log_lines_dropped_total") >= REQUESTS;
}

/* Every write to /dev/full fails as on a full disk. */
Test(unread_log, that_is_on_a_full_disk_costs_lines_and_no_request)
{
    struct replica gateway;
    const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

    cr_assert_geq(full, 0);
    replica_launch_into(&gateway, full, (const char *const[]){"AUTH_FAILURE_LIMIT=1000000", NULL});
    replica_await(&gateway);
    cr_assert_eq(send_all(&gateway), REQUESTS);
    cr_expect(stack_wait(has_lost_all, &gateway, LOST_MS), "%lld lines lost",
              replica_metric(&gateway, "log_lines_dropped_total"));
    cr_expect_eq(replica_ask(&gateway, "/readyz")->status, 200);
    replica_stop(&gateway);
}
