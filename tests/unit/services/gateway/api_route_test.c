#include "services/gateway/api_route.h"

#include <criterion/criterion.h>
#include <string.h>

#include "proto/subject.h"

#define ID "01a1f97f-71ca-71e0-92ce-e627921a2d04"

static struct api_route find(const char *method, const char *target)
{
    return api_route_find(str_of(method), str_of(target));
}

static void expect(const char *method, const char *target, enum api_route_end end,
                   enum operation operation)
{
    struct api_route route = find(method, target);

    cr_expect_eq(route.end, end, "%s %s ends as %d", method, target, route.end);
    cr_expect_eq(route.operation, operation, "%s %s is %s", method, target,
                 operation_name(route.operation));
}

Test(api_route, knows_every_endpoint_of_the_contract)
{
    expect("GET", "/api/v1/ping", API_ROUTE_FOUND, OP_PING);
    expect("POST", "/api/v1/conversations", API_ROUTE_FOUND, OP_CONVERSATION_CREATE);
    expect("GET", "/api/v1/conversations/" ID, API_ROUTE_FOUND, OP_CONVERSATION_GET);
    expect("PUT", "/api/v1/conversations/" ID, API_ROUTE_FOUND, OP_CONVERSATION_UPDATE);
    expect("POST", "/api/v1/conversations/search", API_ROUTE_FOUND, OP_CONVERSATION_SEARCH);
    expect("GET", "/api/v1/audit", API_ROUTE_FOUND, OP_AUDIT_LIST);
}

Test(api_route, distinguishes_paths_outside_the_api_from_unknown_ones)
{
    expect("GET", "/", API_ROUTE_OUTSIDE, OP_NONE);
    expect("GET", "/api/v1x/ping", API_ROUTE_OUTSIDE, OP_NONE);
    expect("GET", "/api/v2/ping", API_ROUTE_OUTSIDE, OP_NONE);
    expect("GET", "//api/v1/ping", API_ROUTE_OUTSIDE, OP_NONE);
    expect("GET", "/api/v1", API_ROUTE_UNKNOWN, OP_UNKNOWN);
    expect("GET", "/api/v1/", API_ROUTE_UNKNOWN, OP_UNKNOWN);
    expect("GET", "/api/v1/nothing", API_ROUTE_UNKNOWN, OP_UNKNOWN);
}

Test(api_route, takes_the_bytes_of_a_path_as_they_are)
{
    expect("GET", "/api/v1/ping/", API_ROUTE_UNKNOWN, OP_UNKNOWN);
    expect("GET", "/api/v1//ping", API_ROUTE_UNKNOWN, OP_UNKNOWN);
    expect("GET", "/api/v1/%70ing", API_ROUTE_UNKNOWN, OP_UNKNOWN);
    expect("GET", "/api/v1/x/../ping", API_ROUTE_UNKNOWN, OP_UNKNOWN);
    expect("GET", "/api/v1/PING", API_ROUTE_UNKNOWN, OP_UNKNOWN);
    expect("POST", "/api/v1/conversations/", API_ROUTE_UNKNOWN, OP_UNKNOWN);
    expect("GET", "/api/v1/conversations/" ID "/parts", API_ROUTE_UNKNOWN, OP_UNKNOWN);
}

Test(api_route, names_the_methods_of_a_path_that_has_others)
{
    static const struct {
        const char *method, *target, *allow;
    } cases[] = {
        {"POST", "/api/v1/ping", "GET"},
        {"HEAD", "/api/v1/ping", "GET"},
        {"get", "/api/v1/ping", "GET"},
        {"GET", "/api/v1/conversations", "POST"},
        {"GET", "/api/v1/conversations/search", "POST"},
        {"PUT", "/api/v1/conversations/search", "POST"},
        {"DELETE", "/api/v1/conversations/" ID, "GET, PUT"},
        {"PATCH", "/api/v1/audit", "GET"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct api_route route = find(cases[i].method, cases[i].target);

        cr_expect_eq(route.end, API_ROUTE_NO_METHOD, "%s %s", cases[i].method, cases[i].target);
        cr_expect_eq(route.operation, OP_UNKNOWN);
        cr_expect_str_eq(route.allow, cases[i].allow);
    }
}

Test(api_route, cuts_out_the_id_and_the_query)
{
    struct api_route get = find("GET", "/api/v1/conversations/" ID "?a=b?c");
    struct api_route audit = find("GET", "/api/v1/audit?per_page=2");
    struct api_route plain = find("GET", "/api/v1/ping");

    cr_expect(str_equal(get.resource_id, STR(ID)));
    cr_expect(str_equal(get.query, STR("a=b?c")));
    cr_expect_not(get.takes_query);
    cr_expect(audit.takes_query);
    cr_expect(str_equal(audit.query, STR("per_page=2")));
    cr_expect_null(plain.query.p);
    cr_expect_null(plain.resource_id.p);
}

Test(api_route, shortens_an_endless_id_but_treats_it_like_any_other)
{
    char target[200] = "/api/v1/conversations/";
    size_t prefix = strlen(target);

    memset(target + prefix, 'a', API_ROUTE_RESOURCE_MAX + 1);
    expect("PUT", target, API_ROUTE_FOUND, OP_CONVERSATION_UPDATE);
    cr_expect_eq(find("PUT", target).resource_id.n, API_ROUTE_RESOURCE_MAX);
    expect("PATCH", target, API_ROUTE_NO_METHOD, OP_UNKNOWN);
    target[prefix + API_ROUTE_RESOURCE_MAX] = '/';
    expect("PUT", target, API_ROUTE_UNKNOWN, OP_UNKNOWN);
}

Test(api_route, marks_commands_that_write_or_have_a_body)
{
    struct api_route create = find("POST", "/api/v1/conversations");
    struct api_route search = find("POST", "/api/v1/conversations/search");
    struct api_route ping = find("GET", "/api/v1/ping");

    cr_expect(create.writes && create.has_body);
    cr_expect_str_eq(create.subject, SUBJECT_CONVERSATION_CREATE);
    cr_expect(!search.writes && search.has_body);
    cr_expect(!ping.writes && !ping.has_body);
    cr_expect_null(ping.subject);
}
