/* Requests that no page of the dashboard sends, each with one thing wrong: they are refused and
   change nothing. The session is an owner's, who may do everything. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "tests/support/dashboard_client.h"
#include "tests/support/http_connection.h"

TestSuite(dashboard_requests, .init = stack_share);

#define KEYS "/data/keys"
#define KEY  "{\"name\":\"k\",\"scope\":\"read\"}"

struct row {
    const char *why;
    struct dashboard_client_request sent; /* by default, POST KEY to KEYS */
    int status;
    const char *code;
};

static struct org org;
static struct dashboard_session session;

static void open_session(void)
{
    org_new(&org);
    dashboard_client_new_user(&session, org.id, "owner");
}

/* @ stands for the dashboard's own address, # for its port. */
static const char *expand(const char *text)
{
    const char *url = stack_setting("DASHBOARD_URL");
    const char *mark = text != NULL ? strpbrk(text, "@#") : NULL;

    if (mark == NULL)
        return text;
    return format("%.*s%s%s", (int)(mark - text), text, *mark == '@' ? url : strrchr(url, ':') + 1,
                  mark + 1);
}

static void expect_all(const struct row *rows, size_t n)
{
    long long before;

    open_session();
    before = dashboard_client_count_changes(org.id);
    for (size_t i = 0; i < n; i++) {
        struct dashboard_client_request sent = rows[i].sent;
        struct client_response *response;
        const char *code;

        sent.session = &session;
        sent.method = sent.method != NULL ? sent.method : "POST";
        sent.path = sent.path != NULL ? sent.path : KEYS;
        if (sent.body == NULL && strcmp(sent.method, "GET") != 0)
            sent.body = KEY;
        sent.origin = expand(sent.origin);
        response = dashboard_client_send(&sent);
        code = json_string_value(at(response, "errors[0].code"));
        cr_expect_eq(response->status, rows[i].status, "%s: %d", rows[i].why, response->status);
        cr_expect(code != NULL && strcmp(code, rows[i].code) == 0, "%s: %s", rows[i].why,
                  response->body);
    }
    cr_assert_eq(dashboard_client_count_changes(org.id), before);
    /* The two that org_new() has made. */
    cr_assert_eq(json_array_size(dashboard_client_get(&session, KEYS)->json), 2);
}
#define EXPECT_ALL(rows) expect_all((rows), ARRAY_SIZE(rows))

#define HEADERS(...)                                                                               \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

/* -- from another site ------------------------------------------------------------------------ */

#define FOREIGN 403, "forbidden_origin"

static const struct row foreign[] = {
    {"no Origin", {.origin = ""}, FOREIGN},
    {"the Origin of a sandboxed frame", {.origin = "null"}, FOREIGN},
    {"another host", {.origin = "http://evil.example"}, FOREIGN},
    {"another port of this host", {.origin = "http://127.0.0.1:1"}, FOREIGN},
    {"this host without its port", {.origin = "http://127.0.0.1"}, FOREIGN},
    {"this host by another name", {.origin = "http://localhost:#"}, FOREIGN},
    {"this host by another scheme", {.origin = "https://127.0.0.1:#"}, FOREIGN},
    {"this host as the front of another", {.origin = "@.evil.example"}, FOREIGN},
    {"this host as a user", {.origin = "http://127.0.0.1:#@evil.example"}, FOREIGN},
    {"this host as a path", {.origin = "http://evil.example/@"}, FOREIGN},
    {"with a path", {.origin = "@/"}, FOREIGN},
    {"two Origins in one line", {.origin = "@ http://evil.example"}, FOREIGN},
    {"two Origins", {.headers = HEADERS("Origin: http://evil.example")}, FOREIGN},
    {"a Referer instead",
     {.origin = "", .headers = HEADERS("Referer: http://127.0.0.1/")},
     FOREIGN},
    {"a cross-site Sec-Fetch-Site", {.headers = HEADERS("Sec-Fetch-Site: cross-site")}, FOREIGN},
    {"a same-site Sec-Fetch-Site", {.headers = HEADERS("Sec-Fetch-Site: same-site")}, FOREIGN},
    {"two contradicting Sec-Fetch-Site headers",
     {.headers = HEADERS("Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: cross-site")},
     FOREIGN},
    {"reading, for a script of another site",
     {.method = "GET", .origin = "http://evil.example"},
     FOREIGN},
    {"reading, into a page of another site",
     {.method = "GET", .headers = HEADERS("Sec-Fetch-Site: cross-site")},
     FOREIGN},
    {"signing in, from another site",
     {.path = "/data/session", .origin = "http://evil.example"},
     FOREIGN},
    {"signing in, without Origin", {.path = "/data/session", .origin = ""}, FOREIGN},
    {"signing out, from another site",
     {.method = "DELETE", .path = "/data/session", .body = "", .origin = "http://evil.example"},
     FOREIGN},
    {"accepting an invitation, from another site",
     {.path = "/data/invitation", .origin = "null"},
     FOREIGN},
};

Test(dashboard_requests, of_other_sites_are_refused)
{
    EXPECT_ALL(foreign);
}

static bool is_logged(void *request_id)
{
    FILE *log = fopen(format("%s/log/dashboard-0.log", stack_setting("RUN_DIR")), "re");
    char line[8192];
    bool found = false;

    cr_assert_not_null(log);
    while (!found && fgets(line, sizeof(line), log) != NULL)
        found = strstr(line, "not sent by a page of the dashboard") != NULL &&
                strstr(line, request_id) != NULL &&
                strstr(line, "\"reason\":\"forbidden_origin\"") != NULL;
    fclose(log);
    return found;
}

Test(dashboard_requests, of_other_sites_are_logged_with_the_reason)
{
    struct client_response *response;

    open_session();
    response = dashboard_client_send(&(struct dashboard_client_request){
        .method = "POST", .path = KEYS, .body = KEY, .session = &session, .origin = "null"});
    expect_error(response, FOREIGN, NULL);
    cr_assert_neq(response->request_id[0], '\0');
    cr_assert(stack_wait(is_logged, response->request_id, 30000));
}

/* -- without the session's token --------------------------------------------------------------- */

#define NO_TOKEN 403, "invalid_csrf_token"
#define ZEROS    "0000000000000000000000000000000000000000000000000000000000000000"

static const struct row tokens[] = {
    {"none", {.csrf = ""}, NO_TOKEN},
    {"a forged one", {.csrf = ZEROS}, NO_TOKEN},
    {"a short one", {.csrf = "0"}, NO_TOKEN},
    {"a long one", {.csrf = ZEROS ZEROS}, NO_TOKEN},
    {"two", {.headers = HEADERS("X-CSRF-Token: " ZEROS)}, NO_TOKEN},
    {"in the query", {.path = KEYS "?csrf=1", .csrf = ""}, NO_TOKEN},
    {"none, changing with PUT", {.method = "PUT", .path = "/data/policy", .csrf = ""}, NO_TOKEN},
    {"none, deleting",
     {.method = "DELETE", .path = "/data/webhooks/x", .body = "", .csrf = ""},
     NO_TOKEN},
    {"none, signing out",
     {.method = "DELETE", .path = "/data/session", .body = "", .csrf = ""},
     NO_TOKEN},
};

Test(dashboard_requests, without_the_sessions_token_are_refused)
{
    struct dashboard_session other;

    EXPECT_ALL(tokens);
    dashboard_client_new_session(&session, &other);
    expect_error(
        dashboard_client_send(&(struct dashboard_client_request){
            .method = "POST", .path = KEYS, .body = KEY, .session = &session, .csrf = other.csrf}),
        403, "invalid_csrf_token", NULL);
}

/* -- of another type --------------------------------------------------------------------------- */

#define NOT_JSON 415, "unsupported_media_type"

static const struct row types[] = {
    {"none", {.type = ""}, NOT_JSON},
    {"what a form can send", {.type = "text/plain"}, NOT_JSON},
    {"what a form sends", {.type = "application/x-www-form-urlencoded"}, NOT_JSON},
    {"what a form with files sends", {.type = "multipart/form-data; boundary=x"}, NOT_JSON},
    {"JSON in a parameter", {.type = "text/plain; x=application/json"}, NOT_JSON},
    {"another JSON", {.type = "application/json-patch+json"}, NOT_JSON},
    {"two", {.headers = HEADERS("Content-Type: text/plain")}, NOT_JSON},
    {"none, without a body",
     {.method = "DELETE", .path = "/data/webhooks/x", .body = "", .type = ""},
     NOT_JSON},
};

Test(dashboard_requests, of_another_type_are_refused)
{
    EXPECT_ALL(types);
}

/* -- by another method or path ----------------------------------------------------------------- */

#define NO_METHOD 405, "method_not_allowed"
#define NOTHING   404, "not_found"
#define AT(path_)                                                                                  \
    {                                                                                              \
        .method = "GET", .path = (path_)                                                           \
    }

static const struct row places[] = {
    {"a key revoked by a link", AT("/data/keys/a/revoke"), NO_METHOD},
    {"a key rotated by a link", AT("/data/keys/a/rotate"), NO_METHOD},
    {"a preflight request", {.method = "OPTIONS"}, NO_METHOD},
    {"PATCH", {.method = "PATCH"}, NO_METHOD},
    {"TRACE", {.method = "TRACE"}, NO_METHOD},
    {"a method in lower case", {.method = "post"}, NO_METHOD},
    {"POST to a page", {.path = "/keys"}, NO_METHOD},
    {"DELETE of a file", {.method = "DELETE", .path = "/assets/js/main.js"}, NO_METHOD},
    {"a method in a header",
     {.method = "PUT", .headers = HEADERS("X-HTTP-Method-Override: POST")},
     NO_METHOD},
    {"data without a name", AT("/data"), NOTHING},
    {"data with an empty name", AT("/data/"), NOTHING},
    {"a trailing slash", AT("/data/keys/"), NOTHING},
    {"two slashes", AT("/data//keys"), NOTHING},
    {"two slashes in front", AT("//data/keys"), NOTHING},
    {"a dot", AT("/data/./keys"), NOTHING},
    {"a parent folder", AT("/data/policy/../keys"), NOTHING},
    {"an escaped letter", AT("/data/%6beys"), NOTHING},
    {"an escaped slash", AT("/data%2fkeys"), NOTHING},
    {"capitals", AT("/Data/keys"), NOTHING},
    {"a path parameter", AT("/data/keys;x=1"), NOTHING},
    {"an id with a path", AT("/data/conversations/..%2fkeys"), NOTHING},
    {"an id with a dot", AT("/data/conversations/.."), NOTHING},
    {"an id of 65 letters", AT("/data/conversations/" ZEROS "0"), NOTHING},
    {"a file outside the assets", AT("/assets/../../../etc/passwd"), NOTHING},
    {"the same, escaped", AT("/assets/%2e%2e/%2e%2e/etc/passwd"), NOTHING},
    {"the same, with backslashes", AT("/assets/..\\..\\etc\\passwd"), NOTHING},
    {"a folder", AT("/assets/js/"), NOTHING},
    {"another host as a path", AT("//evil.example"), NOTHING},
    {"another host as a path, differently", AT("/\\evil.example"), NOTHING},
    {"a URL as a path", AT("/http://evil.example/"), NOTHING},
    {"a page below a page", AT("/keys/evil"), NOTHING},
};

Test(dashboard_requests, by_another_method_or_path_lead_nowhere)
{
    EXPECT_ALL(places);
}

/* -- with other contents ----------------------------------------------------------------------- */

#define INVALID  400, "parameter_invalid"
#define BAD_JSON 400, "invalid_json"

static const struct row contents[] = {
    {"a body that is not JSON", {.path = "/data/keys/a/rotate", .body = "name=k"}, BAD_JSON},
    {"a name twice", {.path = "/data/keys/a/rotate", .body = "{\"a\":1,\"a\":2}"}, BAD_JSON},
    {"bytes that are not text",
     {.path = "/data/keys/a/rotate", .body = "{\"a\":\"\xff\"}"},
     BAD_JSON},
    {"a list", {.path = "/data/keys/a/rotate", .body = "[]"}, INVALID},
    {"an id in addition to that in the path",
     {.path = "/data/keys/a/rotate", .body = "{\"id\":\"b\"}"},
     INVALID},
    {"another user's password",
     {.path = "/data/password",
      .body = "{\"user_id\":\"b\",\"password\":\"a\",\"new_password\":\"b\"}"},
     INVALID},
    {"a forged role",
     {.path = "/data/members", .body = "{\"email\":\"a@b.example\",\"by_role\":\"owner\"}"},
     INVALID},
    {"a forged address",
     {.path = "/data/session",
      .body = "{\"email\":\"a@b.example\",\"password\":\"x\",\"address\":\"192.0.2.1\"}"},
     INVALID},
    {"a forged editor's address",
     {.method = "PUT", .path = "/data/policy", .body = "{\"editor_address\":\"192.0.2.1\"}"},
     INVALID},
    {"a rate limit",
     {.method = "PUT", .path = "/data/organization", .body = "{\"rate_limit\":1000000}"},
     INVALID},
    {"another organization",
     {.body = "{\"name\":\"k\",\"scope\":\"read\",\"organization_id\":\"b\"}"},
     INVALID},
    {"fields of a request that has none",
     {.path = "/data/keys/a/revoke", .body = "{\"a\":1}"},
     INVALID},
    {"an invalid position", {.path = "/data/audit/verify", .body = "{\"position\":1}"}, INVALID},
    {"a position and another field",
     {.path = "/data/audit/verify", .body = "{\"position\":{},\"a\":1}"},
     INVALID},
    {"an unknown parameter", AT("/data/audit?organization_id=b"), INVALID},
    {"a parameter twice", AT("/data/audit?per_page=1&per_page=2"), INVALID},
    {"a parameter of a request that has none", AT("/data/keys?all=1"), INVALID},
    {"an incomplete escape", AT("/data/audit?operation=%4"), INVALID},
    {"NUL in a parameter", AT("/data/audit?operation=ping%00"), INVALID},
    {"invalid UTF-8 in a parameter", AT("/data/audit?operation=%ff"), INVALID},
    {"a negative number", AT("/data/audit?per_page=-1"), INVALID},
    {"an unknown range", AT("/data/usage?range=1y"), INVALID},
    {"no range", AT("/data/usage"), INVALID},
    {"an export until an invalid time", AT("/data/audit/export.csv?after=soon"), INVALID},
    {"an export from an invalid position", AT("/data/audit/export.csv?from=a"), INVALID},
};

Test(dashboard_requests, with_other_contents_are_refused)
{
    EXPECT_ALL(contents);
}

Test(dashboard_requests, of_any_size_are_bounded)
{
    char *large = calloc(1, 65536 + 2);
    struct client_response *response;

    cr_assert_not_null(large);
    memset(large, ' ', 65536 + 1);
    open_session();
    expect_error(dashboard_client_change(&session, "POST", KEYS, large), 413, "payload_too_large",
                 NULL);
    large[20000] = '\0';
    response = dashboard_client_send(&(struct dashboard_client_request){
        .path = KEYS, .session = &session, .headers = HEADERS(format("X-Long: a%sb", large))});
    cr_assert_eq(response->status, 400);
    memset(large, 'a', 1025);
    large[1025] = '\0';
    expect_error(dashboard_client_get(&session, format("/data/audit?operation=%s", large)), 400,
                 "parameter_invalid", "operation");
    free(large);
}

/* -- reflection -------------------------------------------------------------------------------- */

Test(dashboard_requests, are_not_reflected_in_headers)
{
    struct client_response *response;

    open_session();
    response = dashboard_client_get(&session,
                                    "/data/audit?starting_after=%0d%0aSet-Cookie:%20session=evil");
    cr_assert_null(http_header(response, "Set-Cookie"));
    response = dashboard_client_get(&session, "/keys?%0d%0aX-Evil:%201");
    cr_assert_null(http_header(response, "X-Evil"));
    response = dashboard_client_get(NULL, "/sign-in?next=http://evil.example/");
    expect_status(response, 200);
    cr_assert_null(strstr(response->body, "evil"));
}

/* A forged Host is not repeated anywhere, and a change sent with it is refused, since the Origin
   names another host. */
Test(dashboard_requests, do_not_choose_the_host)
{
    static const char *const host[] = {"Host: evil.example", "X-Forwarded-Host: evil.example",
                                       "Forwarded: host=evil.example", NULL};
    struct client_response *response;

    open_session();
    response = dashboard_client_send(&(struct dashboard_client_request){
        .path = "/data/session", .session = &session, .headers = host});
    expect_status(response, 200);
    cr_assert_null(strstr(response->body, "evil"));
    cr_assert_null(strstr(response->head, "evil"));
    expect_error(
        dashboard_client_send(&(struct dashboard_client_request){
            .method = "POST", .path = KEYS, .body = KEY, .session = &session, .headers = host}),
        403, "forbidden_origin", NULL);
}

/* -- with unsound framing ---------------------------------------------------------------------- */

Test(dashboard_requests, with_unsound_framing_end_the_connection)
{
    static const char *const unsound[] = {
        "POST /data/keys HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        "POST /data/keys HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"
        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "GET /keys HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET /keys HTTP/1.1\r\n\r\n",
        "GET ftp://evil.example/keys HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /keys HTTP/1.1\nHost: a\n\n",
        "GET /keys HTTP/1.1\r\nHost: a\r\nX-A: b\r\n c\r\n\r\n",
    };

    for (size_t i = 0; i < ARRAY_SIZE(unsound); i++) {
        struct connection_response response;
        struct http_connection connection;
        char value[256];

        cr_assert(http_connection_open(&connection, stack_dashboard_port()));
        connection.is_private = true;
        cr_assert(http_connection_send(&connection, unsound[i], strlen(unsound[i])));
        cr_assert(http_connection_receive(&connection, &response, 5000), "%s", unsound[i]);
        cr_expect_eq(response.status, 400, "%s", unsound[i]);
        cr_expect(http_connection_header(&response, "X-Frame-Options", value, sizeof(value)));
        cr_expect(http_connection_ends(&connection, 5000), "%s", unsound[i]);
        http_connection_close(&connection);
    }
}
