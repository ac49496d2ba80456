/* The audit log as a download, and the files of the dashboard's pages. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "tests/support/dashboard_client.h"
#include "tests/support/http_connection.h"
#include "tests/support/sql.h"

TestSuite(dashboard_export, .init = stack_share);

enum { ENTRIES = 1003 }; /* more than one step of an export reads */

static struct org org;
static struct dashboard_session session;

static void make_entries(int n)
{
    struct http_connection client;
    struct connection_response response;
    const char *request;

    org_new(&org);
    dashboard_client_new_user(&session, org.id, "member");
    request = format("GET /api/v1/ping HTTP/1.1\r\nHost: a\r\n"
                     "Authorization: Bearer %s\r\n\r\n",
                     org.read_key);
    cr_assert(http_connection_open(&client, stack_gateway_port()));
    client.is_private = true; /* too many for the journal */
    for (int i = 0; i < n; i++) {
        cr_assert(http_connection_send(&client, request, strlen(request)) &&
                  http_connection_receive(&client, &response, HTTP_TIMEOUT_MS));
        cr_assert_eq(response.status, 200, "%d: %s", response.status, response.body);
    }
    http_connection_close(&client);
}

static size_t count_lines(const char *text)
{
    size_t n = 0;

    for (const char *end = text; (end = strchr(end, '\n')) != NULL; end++)
        n++;
    return n;
}

Test(dashboard_export, has_every_entry_once_and_in_order)
{
    struct client_response *lines, *table;
    char before[37] = "";

    make_entries(ENTRIES);
    lines = dashboard_client_get(&session, "/data/audit/export.ndjson");
    expect_status(lines, 200);
    cr_assert_str_eq(http_header(lines, "Content-Type"), "application/x-ndjson");
    cr_assert_str_eq(http_header(lines, "Content-Disposition"),
                     "attachment; filename=\"audit.ndjson\"");
    cr_assert_eq(count_lines(lines->body), ENTRIES);
    for (const char *line = lines->body; *line != '\0'; line = strchr(line, '\n') + 1) {
        json_t *entry = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL);
        const char *id = json_string_value(json_object_get(entry, "id"));

        cr_assert(id != NULL && strcmp(before, id) < 0, "%s after %s", id, before);
        memcpy(before, id, sizeof(before));
        json_decref(entry);
    }
    table = dashboard_client_get(&session, "/data/audit/export.csv");
    cr_assert_str_eq(http_header(table, "Content-Type"), "text/csv; charset=utf-8");
    cr_assert_eq(count_lines(table->body), ENTRIES + 1);
    cr_assert_eq(strstr(table->body, "\"created_at\",\"id\",\"operation\",\"http_status\""),
                 table->body);
    cr_assert_not_null(strstr(table->body, format("\"%s\",\"ping\",\"200\",\"allowed\"", before)));
}

Test(dashboard_export, is_of_the_time_that_is_asked_for)
{
    struct client_response *response;
    long long now;

    make_entries(3);
    now = (long long)sql_integer("SELECT extract(epoch FROM now())::bigint", NULL);
    response =
        dashboard_client_get(&session, format("/data/audit/export.ndjson?after=%lld", now + 1000));
    expect_status(response, 200);
    cr_assert_eq(response->body_n, 0);
    response =
        dashboard_client_get(&session, format("/data/audit/export.csv?before=%lld", now - 1000));
    cr_assert_eq(count_lines(response->body), 1);
    response = dashboard_client_get(
        &session, format("/data/audit/export.csv?after=%lld&before=%lld", now - 1000, now + 1000));
    cr_assert_eq(count_lines(response->body), 4);
}

Test(dashboard_export, takes_a_session)
{
    expect_error(dashboard_client_get(NULL, "/data/audit/export.ndjson"), 401, "unauthorized",
                 NULL);
    expect_error(dashboard_client_get(NULL, "/data/audit/export.csv"), 401, "unauthorized", NULL);
}

/* Over HTTP/1.0, only the end of the connection ends the file. */
Test(dashboard_export, ends_with_the_connection_without_chunked_coding)
{
    struct connection_response response;
    const char *request;
    struct http_connection connection;

    make_entries(3);
    request = format("GET /data/audit/export.ndjson HTTP/1.0\r\nHost: a\r\n"
                     "Cookie: session=%s\r\nConnection: keep-alive\r\n\r\n",
                     session.token);
    cr_assert(http_connection_open(&connection, stack_dashboard_port()));
    connection.is_private = true;
    cr_assert(http_connection_send(&connection, request, strlen(request)));
    cr_assert(http_connection_receive(&connection, &response, 30000));
    cr_assert_eq(response.status, 200);
    cr_assert_eq(count_lines(response.body), 3);
    http_connection_close(&connection);
}

/* -- a slow browser ---------------------------------------------------------------------------- */

/* Inserts entries directly: for exports that no socket buffer can hold. */
static void fill_audit_log(int n)
{
    cr_assert_eq(
        sql_integer(
            "WITH made AS (INSERT INTO audit.entries (organization_id, created_at,"
            " request_id, api_key_id, operation, http_status, outcome)"
            " SELECT $1::uuid, to_timestamp(ms / 1000.0),"
            "  (lpad(to_hex(ms), 12, '0') || '7' || right(md5($1::text || n::text), 19))::uuid,"
            "  $1::uuid, 'ping', 200, 'allowed'"
            " FROM generate_series(1, $2::integer) AS n,"
            "  (SELECT (extract(epoch FROM now()) * 1000)::bigint AS ms) AS at"
            " RETURNING 1) SELECT count(*) FROM made",
            org.id, format("%d", n), NULL),
        n);
}

/* Reads the rest of a response; true if it ends with the last chunk. */
static bool drain(int fd, size_t *total)
{
    static char bytes[65536];
    char last[5] = "";
    ssize_t n;

    *total = 0;
    while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0) {
        *total += (size_t)n;
        if (n >= 5)
            memcpy(last, bytes + n - 5, 5);
        else {
            memmove(last, last + n, 5 - (size_t)n);
            memcpy(last + 5 - n, bytes, (size_t)n);
        }
    }
    return memcmp(last, "0\r\n\r\n", 5) == 0;
}

/* Begins an export and reads only its beginning. */
static void begin_export(struct http_connection *connection)
{
    const char *request = format("GET /data/audit/export.ndjson HTTP/1.1\r\nHost: a\r\n"
                                 "Cookie: session=%s\r\nConnection: close\r\n\r\n",
                                 session.token);
    char front[1024];
    int capacity = 65536;

    cr_assert(http_connection_open(connection, stack_dashboard_port()));
    cr_assert_eq(setsockopt(connection->fd, SOL_SOCKET, SO_RCVBUF, &capacity, sizeof(capacity)), 0);
    cr_assert(http_connection_send(connection, request, strlen(request)));
    cr_assert_gt(recv(connection->fd, front, sizeof(front), MSG_WAITALL), 0);
    cr_assert(strncmp(front, "HTTP/1.1 200 ", 13) == 0);
}

Test(dashboard_export, waits_for_the_browser_and_stops_when_its_session_ends)
{
    const size_t whole = 40000UL * 250;
    struct dashboard_session again;
    struct http_connection connection;
    size_t total;

    make_entries(0);
    fill_audit_log(40000);
    begin_export(&connection);
    cr_assert(drain(connection.fd, &total));
    cr_assert_gt(total, whole);
    http_connection_close(&connection);

    dashboard_client_new_session(&session, &again);
    begin_export(&connection);
    expect_status(dashboard_client_change(&again, "DELETE", "/data/sessions", NULL), 200);
    cr_assert_not(drain(connection.fd, &total));
    cr_assert_lt(total, whole);
    http_connection_close(&connection);
}

static bool is_free(void *closure)
{
    return dashboard_client_get(&session, "/data/audit/export.ndjson?before=1")->status == 200;
}

Test(dashboard_export, leaves_places_for_other_organizations)
{
    struct dashboard_session first;
    struct http_connection one, two;

    make_entries(0);
    fill_audit_log(40000);
    first = session;
    begin_export(&one);
    begin_export(&two);
    expect_error(dashboard_client_get(&session, "/data/audit/export.csv"), 503,
                 "service_unavailable", NULL);
    make_entries(0);
    expect_status(dashboard_client_get(&session, "/data/audit/export.csv"), 200);
    http_connection_close(&one);
    session = first;
    cr_assert(stack_wait(is_free, NULL, 30000));
    http_connection_close(&two);
}

/* -- the pages' files -------------------------------------------------------------------------- */

static const char *const packed[] = {"Accept-Encoding: gzip", NULL};

Test(dashboard_export, files_are_kept_until_they_change)
{
    struct client_response *plain = dashboard_client_get(NULL, "/assets/js/main.js");
    struct client_response *small = dashboard_client_send(
        &(struct dashboard_client_request){.path = "/assets/js/main.js", .headers = packed});
    const char *known[] = {format("If-None-Match: %s", http_header(plain, "ETag")), NULL};
    struct client_response *again = dashboard_client_send(
        &(struct dashboard_client_request){.path = "/assets/js/main.js", .headers = known});

    expect_status(plain, 200);
    cr_assert_str_eq(http_header(plain, "Cache-Control"), "no-cache");
    cr_assert_str_eq(http_header(plain, "Content-Type"), "text/javascript; charset=utf-8");
    cr_assert_null(http_header(plain, "Content-Encoding"));
    cr_assert_str_eq(http_header(small, "Content-Encoding"), "gzip");
    cr_assert_str_eq(http_header(small, "Vary"), "accept-encoding");
    cr_assert_str_neq(http_header(small, "ETag"), http_header(plain, "ETag"));
    cr_assert_lt(small->body_n, plain->body_n);
    cr_assert_eq(again->status, 304);
    cr_assert_eq(again->body_n, 0);
}

Test(dashboard_export, files_have_a_head_without_a_body)
{
    struct client_response *response = dashboard_client_send(&(struct dashboard_client_request){
        .method = "HEAD", .path = "/sign-in", .origin = "", .type = ""});

    expect_status(response, 200);
    cr_assert_gt(http_header_integer(response, "Content-Length"), 0);
    cr_assert_eq(response->body_n, 0);
}

Test(dashboard_export, files_describe_the_api)
{
    struct client_response *response = dashboard_client_get(NULL, "/openapi.json");

    expect_status(response, 200);
    expect_text(response, "openapi", "3.1.0");
    cr_assert_not_null(at(response, "paths"));
}
