#include <criterion/criterion.h>
#include <string.h>

#include "common/http/request_headers.h"

static h2o_mem_pool_t pool;
static h2o_headers_t headers;
static struct request_headers got;

static void set_up(void)
{
    h2o_mem_init_pool(&pool);
    headers = (h2o_headers_t){NULL};
    memset(&got, 0xee, sizeof(got)); /* stale contents */
}

static void tear_down(void)
{
    h2o_mem_clear_pool(&pool);
}

TestSuite(request_headers, .init = set_up, .fini = tear_down);

/* As h2o does: known names become its tokens. */
static void come(const char *name, const char *value)
{
    h2o_add_header_by_str(&pool, &headers, name, strlen(name), 1, NULL, value, strlen(value));
}

static bool is(struct str value, const char *expected)
{
    return str_equal(value, str_of(expected));
}

Test(request_headers, are_absent_unless_they_came)
{
    come("x-unknown", "1");
    request_headers_read(&headers, &got);
    cr_expect_eq(got.authorization.n, 0);
    cr_expect_null(got.authorization.value.p);
    cr_expect_null(got.traceparent.value.p);
    cr_expect_eq(got.accept.n + got.cookie.n + got.forwarded_for.n, 0);
}

Test(request_headers, have_their_last_line_and_how_many_came)
{
    come("authorization", "a");
    come("authorization", "b");
    come("x-forwarded-proto", "https");
    request_headers_read(&headers, &got);
    cr_expect_eq(got.authorization.n, 2);
    cr_expect(is(got.authorization.value, "b"));
    cr_expect(is(got.forwarded_proto.value, "https"));
    cr_expect_null(request_header_once(&got.authorization).p);
    cr_expect(is(request_header_once(&got.forwarded_proto), "https"));
}

Test(request_headers, that_are_lists_have_all_their_lines_in_order)
{
    come("x-forwarded-for", "192.0.2.1");
    come("accept", "*/*");
    come("x-forwarded-for", "192.0.2.2");
    request_headers_read(&headers, &got);
    cr_assert_eq(got.forwarded_for.n, 2);
    cr_expect(is(got.forwarded_for.at[0], "192.0.2.1"));
    cr_expect(is(got.forwarded_for.at[1], "192.0.2.2"));
    cr_expect_eq(got.accept.n, 1);
}

Test(request_headers, are_found_by_each_name)
{
    static const char *const one[] = {
        "authorization", "content-type", "user-agent",     "accept-encoding",   "if-none-match",
        "origin",        "x-csrf-token", "sec-fetch-site", "x-forwarded-proto", "traceparent"};
    const struct request_header *const members[] = {
        &got.authorization,   &got.content_type, &got.user_agent, &got.accept_encoding,
        &got.if_none_match,   &got.origin,       &got.csrf_token, &got.fetch_site,
        &got.forwarded_proto, &got.traceparent};

    for (size_t i = 0; i < ARRAY_SIZE(one); i++)
        come(one[i], one[i]);
    request_headers_read(&headers, &got);
    for (size_t i = 0; i < ARRAY_SIZE(one); i++) {
        cr_expect_eq(members[i]->n, 1, "%s", one[i]);
        cr_expect(is(members[i]->value, one[i]), "%s", one[i]);
    }
}

Test(request_headers, end_if_there_is_no_room_for_more)
{
    for (int i = 0; i < REQUEST_HEADERS_MAX + 5; i++)
        come("cookie", "a=b");
    request_headers_read(&headers, &got);
    cr_expect_eq(got.cookie.n, REQUEST_HEADERS_MAX);
}

Test(media, accepts_json_from_any_list_that_includes_it)
{
    static const char *const good[] = {
        "application/json",
        "APPLICATION/JSON",
        "*/*",
        "application/*",
        "",
        "text/html, */*;q=0.1",
        "text/html;level=1 , application/json ; q=0.5",
        "application/json;charset=utf-8",
        "application/json;q=0.001",
        "application/json;q=1",
        "application/*;q=0, application/json",
        "application/json, application/json;q=0",
        ",,",
    };

    cr_expect(media_accepts_json(NULL, 0));
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        struct str value = str_of(good[i]);
        cr_expect(media_accepts_json(&value, 1), "%s", good[i]);
    }
}

Test(media, refuses_lists_without_json_or_that_rule_it_out)
{
    static const char *const bad[] = {
        "text/html",
        "application/xml",
        "application/json;q=0",
        "application/json;q=0.000",
        "*/*;q=0",
        "application/json;q=0, */*",
        "*/*, application/*;q=0.0",
        "json",
        "application",
        "application/json-patch",
        "text/*",
        "*",
    };

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct str value = str_of(bad[i]);
        cr_expect_not(media_accepts_json(&value, 1), "%s", bad[i]);
    }
}

Test(media, reads_several_accept_headers_as_one_list)
{
    const struct str good[] = {STR("text/html"), STR("application/json")};
    const struct str bad[] = {STR("*/*"), STR("application/json;q=0")};

    cr_expect(media_accepts_json(good, 2));
    cr_expect_not(media_accepts_json(bad, 2));
}

static struct request_headers *typed(const char *content_type)
{
    static struct request_headers typed_headers;

    typed_headers = (struct request_headers){.content_type = {str_of(content_type), 1}};
    return &typed_headers;
}

Test(media, takes_json_in_utf_8_and_nothing_else)
{
    static const char *const good[] = {
        "application/json",
        "Application/JSON; charset=utf-8",
        " application/json ;x=y",
        "application/json;Charset=\"UTF-8\"",
        "application/json;;charset=utf8",
        "application/json; charset=US-ASCII; a=b",
        "application/json; charset",
    };
    static const char *const bad[] = {
        "",
        "text/plain",
        "application/jsonx",
        "application/json, text/plain",
        "application/json text",
        "*/*",
        "application/json; charset=utf-16",
        "application/json; charset=\"utf-32\"",
        "application/json; a=b ;CHARSET=iso-8859-1",
        "application/json; charset=utf-8; charset=utf-16",
        "application/json; charset=",
        "application/json; charset=\"",
    };

    for (size_t i = 0; i < ARRAY_SIZE(good); i++)
        cr_expect_null(media_body_error(typed(good[i])), "%s", good[i]);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        cr_expect_not_null(media_body_error(typed(bad[i])), "%s", bad[i]);
    cr_expect_not_null(media_body_error(&(struct request_headers){.content_type.n = 0}));
}

Test(media, names_what_is_wrong_with_a_body)
{
    struct request_headers *body = typed("application/json; charset=utf-16");

    cr_expect_not_null(strstr(media_body_error(body), "UTF-8"));
    body = typed("application/json");
    body->content_encoding = (struct request_header){STR("gzip"), 1};
    cr_expect_not_null(strstr(media_body_error(body), "without Content-Encoding"));
    body->content_encoding = (struct request_header){STR(" Identity "), 1};
    cr_expect_null(media_body_error(body));
    body->content_encoding = (struct request_header){STR("identity"), 2};
    cr_expect_not_null(media_body_error(body));
}
