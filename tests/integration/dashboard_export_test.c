/* The audit trail as a file, and the pages' own files. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "tests/support/client.h"
#include "tests/support/desk.h"
#include "tests/support/raw.h"
#include "tests/support/sql.h"

TestSuite(dashboard_export, .init = api_open, .timeout = 120);

enum { ENTRIES = 1003 }; /* more than a step of an export has */

static struct org org;
static struct seat seat;

static void make_entries(int n)
{
    static struct client client;
    struct client_answer answer;
    const char *request;

    org_new(&org);
    desk_sit(&seat, org.id, "member");
    request = format("GET /api/v1/ping HTTP/1.1\r\nHost: a\r\n"
                     "Authorization: Bearer %s\r\n\r\n",
                     org.read_key);
    cr_assert(client_open(&client, stack_gateway_port()));
    for (int i = 0; i < n; i++) {
        cr_assert(client_send(&client, request, strlen(request)) &&
                  client_receive(&client, &answer));
        cr_assert_eq(answer.status, 200, "%d: %.*s", answer.status, (int)answer.body_n,
                     answer.body);
    }
    client_close(&client);
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
    struct answer *lines, *table;
    char before[37] = "";

    make_entries(ENTRIES);
    lines = desk_get(&seat, "/data/audit/export.ndjson");
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
    table = desk_get(&seat, "/data/audit/export.csv");
    cr_assert_str_eq(http_header(table, "Content-Type"), "text/csv; charset=utf-8");
    cr_assert_eq(count_lines(table->body), ENTRIES + 1);
    cr_assert_eq(strstr(table->body, "\"created_at\",\"id\",\"operation\",\"http_status\""),
                 table->body);
    cr_assert_not_null(strstr(table->body, format("\"%s\",\"ping\",\"200\",\"allowed\"", before)));
}

Test(dashboard_export, is_of_the_time_that_is_asked_for)
{
    struct answer *answer;
    long long now;

    make_entries(3);
    now = (long long)sql_integer("SELECT extract(epoch FROM now())::bigint", NULL);
    answer = desk_get(&seat, format("/data/audit/export.ndjson?after=%lld", now + 1000));
    expect_status(answer, 200);
    cr_assert_eq(answer->body_n, 0);
    answer = desk_get(&seat, format("/data/audit/export.csv?before=%lld", now - 1000));
    cr_assert_eq(count_lines(answer->body), 1);
    answer = desk_get(
        &seat, format("/data/audit/export.csv?after=%lld&before=%lld", now - 1000, now + 1000));
    cr_assert_eq(count_lines(answer->body), 4);
}

Test(dashboard_export, takes_a_session)
{
    expect_error(desk_get(NULL, "/data/audit/export.ndjson"), 401, "unauthorized", NULL);
    expect_error(desk_get(NULL, "/data/audit/export.csv"), 401, "unauthorized", NULL);
}

/* The same over HTTP/1.0, where only the end of the connection ends it. */
Test(dashboard_export, ends_with_the_connection_where_there_are_no_chunks)
{
    static struct raw_answer answer;
    const char *request;
    struct raw raw;

    make_entries(3);
    request = format("GET /data/audit/export.ndjson HTTP/1.0\r\nHost: a\r\n"
                     "Cookie: session=%s\r\nConnection: keep-alive\r\n\r\n",
                     seat.token);
    raw_open(&raw, atoi(strrchr(stack_setting("DASHBOARD_URL"), ':') + 1));
    raw.is_private = true;
    cr_assert(raw_write(&raw, request, strlen(request)));
    cr_assert(raw_read(&raw, &answer, 30000));
    cr_assert_eq(answer.status, 200);
    cr_assert_eq(count_lines(answer.body), 3);
    raw_close(&raw);
}

/* -- while the browser takes its time ---------------------------------------------------------- */

/* As many as no socket's buffers hold. */
static void fill_trail(int n)
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

/* All that still comes; true when it ends as a whole answer does. */
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

/* Begins an export and takes the front of it. */
static void begin_export(struct raw *raw)
{
    const char *request = format("GET /data/audit/export.ndjson HTTP/1.1\r\nHost: a\r\n"
                                 "Cookie: session=%s\r\nConnection: close\r\n\r\n",
                                 seat.token);
    char front[1024];
    int room = 65536;

    raw_open(raw, atoi(strrchr(stack_setting("DASHBOARD_URL"), ':') + 1));
    cr_assert_eq(setsockopt(raw->fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room)), 0);
    cr_assert(raw_write(raw, request, strlen(request)));
    cr_assert_gt(recv(raw->fd, front, sizeof(front), MSG_WAITALL), 0);
    cr_assert(strncmp(front, "HTTP/1.1 200 ", 13) == 0);
}

Test(dashboard_export, waits_for_the_browser_and_stops_when_its_session_ends)
{
    const size_t whole = 40000UL * 250;
    struct seat again;
    struct raw raw;
    size_t total;

    make_entries(0);
    fill_trail(40000);
    begin_export(&raw);
    cr_assert(drain(raw.fd, &total));
    cr_assert_gt(total, whole);
    raw_close(&raw);

    desk_sit_again(&seat, &again);
    begin_export(&raw);
    expect_status(desk_do(&again, "DELETE", "/data/sessions", NULL), 200);
    cr_assert_not(drain(raw.fd, &total));
    cr_assert_lt(total, whole);
    raw_close(&raw);
}

static bool is_free(void *closure)
{
    return desk_get(&seat, "/data/audit/export.ndjson?before=1")->status == 200;
}

Test(dashboard_export, leaves_places_for_other_organizations)
{
    struct seat first;
    struct raw one, two;

    make_entries(0);
    fill_trail(40000);
    first = seat;
    begin_export(&one);
    begin_export(&two);
    expect_error(desk_get(&seat, "/data/audit/export.csv"), 503, "service_unavailable", NULL);
    make_entries(0);
    expect_status(desk_get(&seat, "/data/audit/export.csv"), 200);
    raw_close(&one);
    seat = first;
    cr_assert(stack_wait(is_free, NULL, 30000));
    raw_close(&two);
}

/* -- the pages' files -------------------------------------------------------------------------- */

static const char *const packed[] = {"Accept-Encoding: gzip", NULL};

Test(dashboard_export, files_are_kept_until_they_change)
{
    struct answer *plain = desk_get(NULL, "/assets/js/main.js");
    struct answer *small =
        desk_send(&(struct desk_request){.path = "/assets/js/main.js", .headers = packed});
    const char *known[] = {format("If-None-Match: %s", http_header(plain, "ETag")), NULL};
    struct answer *again =
        desk_send(&(struct desk_request){.path = "/assets/js/main.js", .headers = known});

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
    struct answer *answer = desk_send(
        &(struct desk_request){.method = "HEAD", .path = "/sign-in", .origin = "", .type = ""});

    expect_status(answer, 200);
    cr_assert_gt(http_header_integer(answer, "Content-Length"), 0);
    cr_assert_eq(answer->body_n, 0);
}

Test(dashboard_export, files_describe_the_api)
{
    struct answer *answer = desk_get(NULL, "/openapi.json");

    expect_status(answer, 200);
    expect_text(answer, "openapi", "3.1.0");
    cr_assert_not_null(at(answer, "paths"));
}
