/* Contract 7 and the order of checks: every status and code that a request can get, in one table,
   with its envelope, its headers and its entry in the audit log. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/str.h"
#include "tests/support/api_client.h"
#include "tests/support/sql.h"

TestSuite(errors, .init = stack_share);

enum key { NO_KEY, BAD_KEY, READ_KEY, FULL_KEY };

struct row {
    const char *why;
    const char *method, *path;
    enum key key;
    const char *body;
    const char *header, *header_2;
    int status;
    const char *code, *field;
    const char *operation; /* as the audit log names it; NULL = not in the audit log */
};

#define ABSENT      "/conversations/01890000-0000-7000-8000-000000000000"
#define A_CREATE    "{\"external_id\":\"e\",\"from\":{\"external_id\":\"c\"}}"
#define AN_UPDATE   "{\"custom_attributes\":{}}"
#define TEXT_PLAIN  "Content-Type: text/plain"
#define ACCEPT_HTML "Accept: text/html"

static const struct row rows[] = {
    /* Each code. */
    {"a body that is not JSON", "POST", "/conversations", FULL_KEY, "{", NULL, NULL, 400,
     "invalid_json", "*", "conversation.create"},
    {"a required field is absent", "POST", "/conversations", FULL_KEY,
     "{\"from\":{\"external_id\":\"c\"}}", NULL, NULL, 400, "parameter_not_found", "external_id",
     "conversation.create"},
    {"an unknown field", "POST", "/conversations", FULL_KEY,
     "{\"external_id\":\"e\",\"from\":{\"external_id\":\"c\"},\"body\":\"hi\"}", NULL, NULL, 400,
     "parameter_invalid", "body", "conversation.create"},
    {"an invalid cursor", "GET", "/audit?starting_after=abc", READ_KEY, NULL, NULL, NULL, 400,
     "invalid_cursor", "starting_after", "audit.list"},
    {"no key", "GET", "/ping", NO_KEY, NULL, NULL, NULL, 401, "unauthorized", "*", NULL},
    {"an unknown key", "GET", "/ping", BAD_KEY, NULL, NULL, NULL, 401, "unauthorized", "*", NULL},
    {"a read key that creates", "POST", "/conversations", READ_KEY, A_CREATE, NULL, NULL, 403,
     "insufficient_scope", "*", "conversation.create"},
    {"a read key that updates", "PUT", ABSENT, READ_KEY, AN_UPDATE, NULL, NULL, 403,
     "insufficient_scope", "*", "conversation.update"},
    {"no such path", "GET", "/nothing", FULL_KEY, NULL, NULL, NULL, 404, "not_found", "*",
     "unknown"},
    {"a path after an id", "GET", ABSENT "/messages", FULL_KEY, NULL, NULL, NULL, 404, "not_found",
     "*", "unknown"},
    {"an extra slash", "GET", "/ping/", FULL_KEY, NULL, NULL, NULL, 404, "not_found", "*",
     "unknown"},
    {"another spelling of a path", "GET", "/%70ing", FULL_KEY, NULL, NULL, NULL, 404, "not_found",
     "*", "unknown"},
    {"the root of the interface", "GET", "", FULL_KEY, NULL, NULL, NULL, 404, "not_found", "*",
     "unknown"},
    {"an unknown id", "GET", ABSENT, FULL_KEY, NULL, NULL, NULL, 404, "not_found", "*",
     "conversation.get"},
    {"an update of an unknown id", "PUT", ABSENT, FULL_KEY, AN_UPDATE, NULL, NULL, 404, "not_found",
     "*", "conversation.update"},
    {"a method of another path", "POST", "/ping", FULL_KEY, "{}", NULL, NULL, 405,
     "method_not_allowed", "*", "unknown"},
    {"deleting a conversation", "DELETE", ABSENT, FULL_KEY, NULL, NULL, NULL, 405,
     "method_not_allowed", "*", "unknown"},
    {"a method in lower case", "get", "/ping", FULL_KEY, NULL, NULL, NULL, 405,
     "method_not_allowed", "*", "unknown"},
    {"a client that takes HTML only", "GET", "/ping", FULL_KEY, NULL, ACCEPT_HTML, NULL, 406,
     "not_acceptable", "*", "ping"},
    {"a client that takes anything but JSON", "GET", "/ping", FULL_KEY, NULL,
     "Accept: */*, application/json;q=0", NULL, 406, "not_acceptable", "*", "ping"},
    {"a form", "POST", "/conversations", FULL_KEY, A_CREATE,
     "Content-Type: application/x-www-form-urlencoded", NULL, 415, "unsupported_media_type", "*",
     "conversation.create"},
    {"a type that only begins like JSON", "PUT", ABSENT, FULL_KEY, AN_UPDATE,
     "Content-Type: application/jsonp", NULL, 415, "unsupported_media_type", "*",
     "conversation.update"},
    {"no type", "POST", "/conversations", FULL_KEY, A_CREATE, "Content-Type:", NULL, 415,
     "unsupported_media_type", "*", "conversation.create"},
    /* The order of checks: two things are wrong, and the error is about the earlier one. */
    {"key before path", "GET", "/nothing", BAD_KEY, NULL, NULL, NULL, 401, "unauthorized", "*",
     NULL},
    {"key before method", "DELETE", "/ping", NO_KEY, NULL, NULL, NULL, 401, "unauthorized", "*",
     NULL},
    {"key before Accept", "GET", "/ping", NO_KEY, NULL, ACCEPT_HTML, NULL, 401, "unauthorized", "*",
     NULL},
    {"path before Accept", "GET", "/nothing", FULL_KEY, NULL, ACCEPT_HTML, NULL, 404, "not_found",
     "*", "unknown"},
    {"method before Accept", "DELETE", "/ping", FULL_KEY, NULL, ACCEPT_HTML, NULL, 405,
     "method_not_allowed", "*", "unknown"},
    {"method before scope", "DELETE", "/conversations", READ_KEY, NULL, NULL, NULL, 405,
     "method_not_allowed", "*", "unknown"},
    {"Accept before scope", "POST", "/conversations", READ_KEY, A_CREATE, ACCEPT_HTML, NULL, 406,
     "not_acceptable", "*", "conversation.create"},
    {"Accept before Content-Type", "POST", "/conversations", FULL_KEY, A_CREATE, ACCEPT_HTML,
     TEXT_PLAIN, 406, "not_acceptable", "*", "conversation.create"},
    {"scope before Content-Type", "POST", "/conversations", READ_KEY, A_CREATE, TEXT_PLAIN, NULL,
     403, "insufficient_scope", "*", "conversation.create"},
    {"scope before JSON", "POST", "/conversations", READ_KEY, "{", NULL, NULL, 403,
     "insufficient_scope", "*", "conversation.create"},
    {"Content-Type before JSON", "POST", "/conversations", FULL_KEY, "{", TEXT_PLAIN, NULL, 415,
     "unsupported_media_type", "*", "conversation.create"},
    {"fields before data", "PUT", ABSENT, FULL_KEY, "{\"custom_attributes\":{\"1\":1}}", NULL, NULL,
     400, "parameter_invalid", "custom_attributes.1", "conversation.update"},
};

static const char *key_of(const struct org *org, enum key key)
{
    switch (key) {
    case NO_KEY:
        return NULL;
    case BAD_KEY:
        return "svc_live_00000000000000000000000000000000000000";
    case READ_KEY:
        return org->read_key;
    case FULL_KEY:
        return org->full_key;
    }
    return NULL;
}

static void expect_rate_headers(const struct client_response *response)
{
    long limit = http_header_integer(response, "X-RateLimit-Limit");
    long remaining = http_header_integer(response, "X-RateLimit-Remaining");
    long reset = http_header_integer(response, "X-RateLimit-Reset");

    cr_assert_gt(limit, 0, "%s: %d without X-RateLimit-Limit", response->about, response->status);
    cr_assert(remaining >= 0 && remaining <= limit, "%s: %ld of %ld", response->about, remaining,
              limit);
    cr_assert_eq(reset % 10, 0, "%s: reset at %ld", response->about, reset);
    cr_assert_lt(labs(reset - (long)time(NULL)), 60, "%s: reset at %ld", response->about, reset);
}

static struct client_response *send_row(const struct row *row, const struct org *org)
{
    const char *headers[] = {row->header, row->header_2, NULL};

    return http_send(&(struct client_request){.method = row->method,
                                              .path = row->path,
                                              .key = key_of(org, row->key),
                                              .body = row->body,
                                              .headers = headers});
}

Test(errors, every_refusal_has_its_status_code_envelope_headers_and_entry)
{
    struct org org;

    org_new(&org);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct row *row = &rows[i];
        struct client_response *response = send_row(row, &org);

        cr_log_info("%s", row->why);
        expect_error(response, row->status, row->code, row->field);
        if (row->operation != NULL) {
            expect_recorded(&org, response, row->operation);
            expect_rate_headers(response);
        } else {
            cr_assert_null(http_header(response, "X-RateLimit-Limit"), "%s", row->why);
        }
    }
    cr_assert_eq(sql_integer("SELECT count(*) FROM conversation.conversations"
                             " WHERE organization_id = $1::uuid",
                             org.id, NULL),
                 0);
}

Test(errors, not_allowed_lists_the_methods_that_are)
{
    static const struct {
        const char *method, *path, *allow;
    } cases[] = {
        {"PUT", "/ping", "GET"},
        {"HEAD", "/ping", "GET"},
        {"OPTIONS", "/ping", "GET"},
        {"GET", "/conversations", "POST"},
        {"PATCH", "/conversations/01890000-0000-7000-8000-000000000000", "GET, PUT"},
        {"POST", "/conversations/01890000-0000-7000-8000-000000000000", "GET, PUT"},
        {"GET", "/conversations/search", "POST"},
        {"DELETE", "/audit", "GET"},
    };
    struct org org;

    org_new(&org);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct client_response *response = http_send(&(struct client_request){
            .method = cases[i].method, .path = cases[i].path, .key = org.full_key});
        const char *allow = http_header(response, "Allow");

        expect_status(response, 405);
        cr_assert(allow != NULL && strcmp(allow, cases[i].allow) == 0, "%s: Allow is %s",
                  response->about, allow != NULL ? allow : "absent");
    }
}

Test(errors, an_accept_that_json_satisfies_is_fine)
{
    static const char *const accepts[] = {
        "Accept: application/json",
        "Accept: */*",
        "Accept: APPLICATION/JSON",
        "Accept: application/json; charset=utf-8",
        "Accept: text/html, application/json;q=0.5",
        "Accept: text/html;q=1, */*;q=0.1",
        "Accept:",
    };
    struct org org;

    org_new(&org);
    for (size_t i = 0; i < ARRAY_SIZE(accepts); i++) {
        const char *headers[] = {accepts[i], NULL};

        expect_status(
            http_send(&(struct client_request){
                .method = "GET", .path = "/ping", .key = org.read_key, .headers = headers}),
            200);
    }
}

Test(errors, a_content_type_of_json_is_fine_with_parameters_and_in_any_case)
{
    static const char *const types[] = {
        "Content-Type: application/json; charset=utf-8",
        "Content-Type: Application/JSON",
        "Content-Type: application/json;charset=\"utf-8\"",
    };
    struct org org;

    org_new(&org);
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        const char *headers[] = {types[i], NULL};

        expect_status(
            http_send(&(struct client_request){
                .method = "POST",
                .path = "/conversations",
                .key = org.full_key,
                .body = format("{\"external_id\":\"e%zu\",\"from\":{\"external_id\":\"c\"}}", i),
                .headers = headers}),
            201);
    }
}

/* The body of a create, padded with blanks to exactly `n` bytes. */
static char *body_of(size_t n)
{
    char *body = malloc(n + 1);
    size_t used;

    cr_assert_not_null(body);
    memset(body, ' ', n);
    used = strlen(A_CREATE);
    memcpy(body, A_CREATE, used);
    body[n] = '\0';
    return body;
}

Test(errors, a_body_may_have_64_kib_and_not_a_byte_more)
{
    struct org org;
    char *fits = body_of(65536), *too_large = body_of(65537), *huge = body_of(1000000);
    struct client_response *response;

    org_new(&org);
    response = api_post(org.full_key, "/conversations", too_large);
    expect_error(response, 413, "payload_too_large", "*");
    expect_recorded(&org, response, "conversation.create");
    expect_rate_headers(response);
    expect_error(api_post(org.full_key, "/conversations", huge), 413, "payload_too_large", "*");
    expect_error(api_post(org.read_key, "/conversations", huge), 403, "insufficient_scope", "*");
    expect_status(api_post(org.full_key, "/conversations", fits), 201);
    free(fits);
    free(too_large);
    free(huge);
}

Test(errors, media_type_comes_before_size_and_size_before_json)
{
    static const char *const text_plain[] = {TEXT_PLAIN, NULL};
    struct org org;
    char *body = body_of(70000);

    org_new(&org);
    body[0] = '[';
    expect_error(http_send(&(struct client_request){.method = "POST",
                                                    .path = "/conversations",
                                                    .key = org.full_key,
                                                    .body = body,
                                                    .headers = text_plain}),
                 415, "unsupported_media_type", "*");
    expect_error(api_post(org.full_key, "/conversations", body), 413, "payload_too_large", "*");
    free(body);
}

Test(errors, a_path_outside_the_interface_is_refused_in_the_envelope)
{
    static const char *const paths[] = {"/",           "/api",         "/api/v2/ping",
                                        "/api/v1ping", "/favicon.ico", "/metrics"};
    const char *base = format("http://127.0.0.1:%d", stack_gateway_port());

    for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
        expect_error(
            http_send(&(struct client_request){.method = "GET", .base = base, .path = paths[i]}),
            404, "not_found", "*");
}

Test(errors, every_request_has_an_id_of_its_own_whatever_the_client_sends)
{
    static const char *const headers[] = {
        "X-Service-Request-Id: 01890000-0000-7000-8000-000000000000", "Request-Id: mine", NULL};
    struct client_response *first, *second;
    struct org org;

    org_new(&org);
    first = http_send(&(struct client_request){
        .method = "GET", .path = "/ping", .key = org.full_key, .headers = headers});
    second = http_send(&(struct client_request){
        .method = "GET", .path = "/ping", .key = org.full_key, .headers = headers});
    cr_assert_str_neq(first->request_id, second->request_id);
    cr_assert_str_neq(first->request_id, "01890000-0000-7000-8000-000000000000");
}

Test(errors, reports_up_to_ten_errors_in_the_order_of_the_document)
{
    struct org org;
    struct client_response *response;
    char body[512] = "{\"external_id\":\" \"";
    size_t n = strlen(body);

    org_new(&org);
    for (int i = 0; i < 20; i++)
        n += (size_t)snprintf(body + n, sizeof(body) - n, ",\"x%d\":1", i);
    snprintf(body + n, sizeof(body) - n, "}");
    response = api_post(org.full_key, "/conversations", body);
    expect_error(response, 400, "parameter_invalid", "external_id");
    cr_assert_eq(json_array_size(at(response, "errors")), 10);
    expect_text(response, "errors[1].field", "x0");
    expect_text(response, "errors[9].field", "x8");
}

Test(errors, a_search_is_routed)
{
    struct org org;
    struct client_response *response;

    org_new(&org);
    response = api_post(org.read_key, "/conversations/search",
                        "{\"query\":{\"field\":\"contact.external_id\",\"operator\":\"=\","
                        "\"value\":\"nobody\"}}");
    cr_assert(response->status == 200 || response->status == 503, "%d: %s", response->status,
              response->body);
    expect_recorded(&org, response, "conversation.search");
}
