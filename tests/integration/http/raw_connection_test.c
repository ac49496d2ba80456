/* Connections with requests that are hidden in others, sent at once, in pieces or too large, and
   with clients that leave early. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "tests/support/api_client.h"
#include "tests/support/http_connection.h"
#include "tests/support/sql.h"

TestSuite(raw_connection, .init = stack_share);

enum { TIMEOUT_MS = 30000 };

static struct connection_response response;

/* A request with a key; `rest` has more headers, the blank line and the body. */
static char *request(const struct org *org, const char *line, const char *rest)
{
    return format("%s\r\nHost: x\r\nAuthorization: Bearer %s\r\n%s", line, org->full_key, rest);
}

Test(raw_connection, a_request_hidden_in_another_is_never_run)
{
    static const char *const carriers[] = {
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n%s",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n%s",
        "Content-Length: 0\r\nContent-Length: 200\r\n\r\n%s",
        "Content-Length: 0\n\r\n\r\n%s",
        "X: y\r\n Content-Length: 0\r\n\r\n%s",
    };
    struct org org;

    org_new(&org);
    for (size_t i = 0; i < ARRAY_SIZE(carriers); i++) {
        const char *before = carriers[i], *place = strstr(before, "%s");
        const char *hidden = request(&org, "POST /api/v1/conversations HTTP/1.1",
                                     "Content-Type: application/json\r\nContent-Length: 49\r\n\r\n"
                                     "{\"external_id\":\"h\",\"from\":{\"external_id\":\"h\"}}   ");
        const char *bytes = request(&org, "POST /api/v1/conversations HTTP/1.1",
                                    format("Content-Type: application/json\r\n%.*s%s",
                                           (int)(place - before), before, hidden));
        struct http_connection connection;

        cr_assert(http_connection_open(&connection, stack_gateway_port()));
        http_connection_send(&connection, bytes, strlen(bytes));
        cr_assert(http_connection_receive(&connection, &response, TIMEOUT_MS), "carrier %zu", i);
        cr_assert_eq(response.status, 400, "carrier %zu: %d", i, response.status);
        http_connection_end_sending(&connection);
        cr_assert(http_connection_ends(&connection, TIMEOUT_MS), "carrier %zu", i);
        http_connection_close(&connection);
    }
    cr_assert_eq(sql_integer("SELECT count(*) FROM conversation.conversations"
                             " WHERE organization_id = $1::uuid",
                             org.id, NULL),
                 0);
}

static void end_with_created(struct http_connection *connection)
{
    cr_assert(http_connection_receive(connection, &response, TIMEOUT_MS));
    cr_assert_eq(response.status, 201, "%d: %s", response.status, response.body);
    http_connection_close(connection);
}

Test(raw_connection, requests_sent_at_once_are_answered_in_order)
{
    struct org org;
    struct http_connection connection;
    static const int statuses[] = {200, 404, 405, 200};
    const char *bytes;

    org_new(&org);
    bytes = format("%s%s%s%s", request(&org, "GET /api/v1/ping HTTP/1.1", "\r\n"),
                   request(&org, "GET /api/v1/nothing HTTP/1.1", "\r\n"),
                   request(&org, "DELETE /api/v1/ping HTTP/1.1", "\r\n"),
                   request(&org, "GET /api/v1/ping HTTP/1.1", "\r\n"));
    cr_assert(http_connection_open(&connection, stack_gateway_port()));
    http_connection_send(&connection, bytes, strlen(bytes));
    for (int i = 0; i < 4; i++) {
        cr_assert(http_connection_receive(&connection, &response, TIMEOUT_MS), "answer %d", i);
        cr_assert_eq(response.status, statuses[i], "answer %d: %d", i, response.status);
    }
    http_connection_close(&connection);
}

Test(raw_connection, a_request_may_arrive_byte_by_byte)
{
    struct org org;
    struct http_connection connection;
    const char *bytes;

    org_new(&org);
    bytes = request(&org, "POST /api/v1/conversations HTTP/1.1",
                    "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
                    "18\r\n{\"external_id\":\"slow\",\"f\r\n19;ext=1\r\n"
                    "rom\":{\"external_id\":\"c\"}}\r\n0\r\nTrailer: x\r\n\r\n");
    cr_assert(http_connection_open(&connection, stack_gateway_port()));
    for (size_t i = 0; i < strlen(bytes); i++)
        cr_assert(http_connection_send(&connection, bytes + i, 1));
    end_with_created(&connection);
}

Test(raw_connection, a_client_that_expects_100_continue_gets_it)
{
    struct org org;
    struct http_connection connection;
    const char *head, *body = "{\"external_id\":\"e\",\"from\":{\"external_id\":\"c\"}}";

    org_new(&org);
    head = request(&org, "POST /api/v1/conversations HTTP/1.1",
                   format("Content-Type: application/json\r\nExpect: 100-continue\r\n"
                          "Content-Length: %zu\r\n\r\n",
                          strlen(body)));
    cr_assert(http_connection_open(&connection, stack_gateway_port()));
    http_connection_send(&connection, head, strlen(head));
    cr_assert(http_connection_receive(&connection, &response, TIMEOUT_MS));
    cr_assert_eq(response.status, 100);
    http_connection_send(&connection, body, strlen(body));
    end_with_created(&connection);
}

/* RFC 9110, 10.1.1: an HTTP/1.0 client would take a 100 for the response. */
Test(raw_connection, a_client_of_http_1_0_gets_no_100_continue)
{
    struct org org;
    struct http_connection connection;
    const char *bytes;

    org_new(&org);
    bytes = request(&org, "POST /api/v1/conversations HTTP/1.0",
                    "Content-Type: application/json\r\nExpect: 100-continue\r\n"
                    "Content-Length: 46\r\n\r\n"
                    "{\"external_id\":\"e\",\"from\":{\"external_id\":\"c\"}}");
    cr_assert(http_connection_open(&connection, stack_gateway_port()));
    http_connection_send(&connection, bytes, strlen(bytes));
    end_with_created(&connection);
}

Test(raw_connection, headers_beyond_16_kib_or_a_hundred_are_refused)
{
    struct org org;

    org_new(&org);
    for (int i = 0; i < 3; i++) {
        char *rest = calloc(1, 200000), *line = calloc(1, 100000);
        struct http_connection connection;
        const char *bytes;

        strcpy(line, "GET /api/v1/ping");
        if (i == 0) {
            strcpy(rest, "X-Long: ");
            memset(rest + strlen(rest), 'a', 100000);
        } else if (i == 1) {
            for (int h = 0; h < 120; h++)
                sprintf(rest + strlen(rest), "X-%d: y\r\n", h);
            rest[strlen(rest) - 2] = '\0';
        } else {
            strcat(line, "?");
            memset(line + strlen(line), 'q', 20000);
            strcpy(rest, "X: y");
        }
        strcat(line, " HTTP/1.1");
        strcat(rest, "\r\n\r\n");
        bytes = request(&org, line, rest);
        cr_assert(http_connection_open(&connection, stack_gateway_port()));
        http_connection_send(&connection, bytes, strlen(bytes));
        cr_assert(http_connection_receive(&connection, &response, TIMEOUT_MS), "case %d", i);
        cr_assert_eq(response.status, 400, "case %d: %d", i, response.status);
        cr_assert_not_null(strstr(response.body, "\"error.list\""), "case %d: %s", i,
                           response.body);
        cr_assert(response.closes);
        http_connection_end_sending(&connection);
        cr_assert(http_connection_ends(&connection, TIMEOUT_MS), "case %d", i);
        http_connection_close(&connection);
        free(rest);
        free(line);
    }
}

Test(raw_connection, a_client_that_leaves_early_affects_no_other)
{
    static const char *const beginnings[] = {
        "",
        "G",
        "GET /api/v1/pi",
        "GET /api/v1/ping HTTP/1.1\r\nHost: x\r\n",
        "POST /api/v1/conversations HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{",
    };
    pid_t gateway = stack_pid("gateway-0");
    struct org org;

    org_new(&org);
    for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++) {
        struct http_connection connection;

        cr_assert(http_connection_open(&connection, stack_gateway_port()));
        http_connection_send(&connection, beginnings[i], strlen(beginnings[i]));
        http_connection_end_sending(&connection);
        http_connection_ends(&connection, 1000);
        http_connection_close(&connection);
    }
    for (int i = 0; i < 50; i++) {
        struct http_connection connection;
        const char *bytes = request(&org, "GET /api/v1/ping HTTP/1.1", "\r\n");

        cr_assert(http_connection_open(&connection, stack_gateway_port()));
        http_connection_send(&connection, bytes, strlen(bytes));
        http_connection_close(&connection);
    }
    expect_status(api_get(org.full_key, "/ping"), 200);
    cr_assert_eq(stack_pid("gateway-0"), gateway);
}
