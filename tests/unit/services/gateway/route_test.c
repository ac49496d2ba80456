#include "services/gateway/route.h"

#include <criterion/criterion.h>
#include <string.h>

#include "proto/subject.h"

#define ID "01a1f97f-71ca-71e0-92ce-e627921a2d04"

static struct route find(const char *method, const char *target)
{
    return route_find(str_of(method), str_of(target));
}

static void expect(const char *method, const char *target, enum route_end end,
                   enum operation operation)
{
    struct route route = find(method, target);

    cr_expect_eq(route.end, end, "%s %s ends as %d", method, target, route.end);
    cr_expect_eq(route.operation, operation, "%s %s is %s", method, target,
                 operation_name(route.operation));
}

Test(route, knows_every_endpoint_of_the_contract)
{
    expect("GET", "/api/v1/ping", ROUTE_FOUND, OP_PING);
    expect("POST", "/api/v1/conversations", ROUTE_FOUND, OP_CONVERSATION_CREATE);
    expect("GET", "/api/v1/conversations/" ID, ROUTE_FOUND, OP_CONVERSATION_GET);
    expect("PUT", "/api/v1/conversations/" ID, ROUTE_FOUND, OP_CONVERSATION_UPDATE);
    expect("POST", "/api/v1/conversations/search", ROUTE_FOUND, OP_CONVERSATION_SEARCH);
    expect("GET", "/api/v1/audit", ROUTE_FOUND, OP_AUDIT_LIST);
}

Test(route, tells_what_is_outside_from_what_is_unknown)
{
    expect("GET", "/", ROUTE_OUTSIDE, OP_NONE);
    expect("GET", "/api/v1x/ping", ROUTE_OUTSIDE, OP_NONE);
    expect("GET", "/api/v2/ping", ROUTE_OUTSIDE, OP_NONE);
    expect("GET", "//api/v1/ping", ROUTE_OUTSIDE, OP_NONE);
    expect("GET", "/api/v1", ROUTE_UNKNOWN, OP_UNKNOWN);
    expect("GET", "/api/v1/", ROUTE_UNKNOWN, OP_UNKNOWN);
    expect("GET", "/api/v1/nothing", ROUTE_UNKNOWN, OP_UNKNOWN);
}

Test(route, takes_the_bytes_of_a_path_as_they_are)
{
    expect("GET", "/api/v1/ping/", ROUTE_UNKNOWN, OP_UNKNOWN);
    expect("GET", "/api/v1//ping", ROUTE_UNKNOWN, OP_UNKNOWN);
    expect("GET", "/api/v1/%70ing", ROUTE_UNKNOWN, OP_UNKNOWN);
    expect("GET", "/api/v1/x/../ping", ROUTE_UNKNOWN, OP_UNKNOWN);
    expect("GET", "/api/v1/PING", ROUTE_UNKNOWN, OP_UNKNOWN);
    expect("POST", "/api/v1/conversations/", ROUTE_UNKNOWN, OP_UNKNOWN);
    expect("GET", "/api/v1/conversations/" ID "/parts", ROUTE_UNKNOWN, OP_UNKNOWN);
}

Test(route, names_the_methods_of_a_path_that_has_others)
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

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct route route = find(cases[i].method, cases[i].target);

        cr_expect_eq(route.end, ROUTE_NO_METHOD, "%s %s", cases[i].method, cases[i].target);
        cr_expect_eq(route.operation, OP_UNKNOWN);
        cr_expect_str_eq(route.allow, cases[i].allow);
    }
}

Test(route, cuts_out_the_id_and_the_query)
{
    struct route get = find("GET", "/api/v1/conversations/" ID "?a=b?c");
    struct route audit = find("GET", "/api/v1/audit?per_page=2");
    struct route plain = find("GET", "/api/v1/ping");

    cr_expect(str_equal(get.resource_id, STR(ID)));
    cr_expect(str_equal(get.query, STR("a=b?c")));
    cr_expect_not(get.takes_query);
    cr_expect(audit.takes_query);
    cr_expect(str_equal(audit.query, STR("per_page=2")));
    cr_expect_null(plain.query.p);
    cr_expect_null(plain.resource_id.p);
}

Test(route, shortens_an_endless_id_but_treats_it_like_any_other)
{
    char target[200] = "/api/v1/conversations/";
    size_t prefix = strlen(target);

    memset(target + prefix, 'a', ROUTE_RESOURCE_MOST + 1);
    expect("PUT", target, ROUTE_FOUND, OP_CONVERSATION_UPDATE);
    cr_expect_eq(find("PUT", target).resource_id.n, ROUTE_RESOURCE_MOST);
    expect("PATCH", target, ROUTE_NO_METHOD, OP_UNKNOWN);
    target[prefix + ROUTE_RESOURCE_MOST] = '/';
    expect("PUT", target, ROUTE_UNKNOWN, OP_UNKNOWN);
}

Test(route, says_who_writes_and_who_takes_a_body)
{
    struct route create = find("POST", "/api/v1/conversations");
    struct route search = find("POST", "/api/v1/conversations/search");
    struct route ping = find("GET", "/api/v1/ping");

    cr_expect(create.writes && create.has_body);
    cr_expect_str_eq(create.subject, SUBJECT_CONVERSATION_CREATE);
    cr_expect(!search.writes && search.has_body);
    cr_expect(!ping.writes && !ping.has_body);
    cr_expect_null(ping.subject);
}
