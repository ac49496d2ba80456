/*
 * Which address and scheme a client has behind trusted and other proxies: tables of headers and the
 * expected status.
 *
 * The gateway of these tests trusts 127.0.0.2, 10.0.0.0/8 and 2001:db8:1::/48. Requests come from
 * 127.0.0.2 unless a row has another address; the organization allows 192.0.2.7 and 2001:db8::7.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "tests/support/api_client.h"
#include "tests/support/replica.h"
#include "tests/support/sql.h"

TestSuite(proxies, .init = stack_share);

#define PROXY    "127.0.0.2"
#define STRANGER "127.0.0.1"
#define XFF      "X-Forwarded-For: "

enum { IN = 200, OUT = 403, HEADERS_MAX = 4, CAPACITY = 16 * 1024 };

struct sent {
    const char *from; /* NULL = PROXY */
    const char *headers[HEADERS_MAX];
    int status;
};

static struct replica gateway;
static struct org org;

static void open_with(const char *setting, const char *value, const char *ip, const char *ip_2)
{
    stack_share();
    org_new(&org);
    json_decref(
        convctl("policy", "set", "--org", org.id, setting, value, "--ip", ip, "--ip", ip_2, NULL));
    replica_start(&gateway, (const char *const[]){
                                "TRUSTED_PROXIES=127.0.0.2/32, 10.0.0.0/8,2001:db8:1::/48", NULL});
}

static void open_allowlist(void)
{
    open_with("--ip-allowlist-enabled", "true", "192.0.2.7", "2001:db8::7");
}

static void open_https(void)
{
    open_with("--require-https", "true", "192.0.2.7", "2001:db8::7");
}

static void close_gateway(void)
{
    replica_stop(&gateway);
}

static struct client_response *send(const struct sent *sent)
{
    const char *headers[HEADERS_MAX + 1] = {NULL};

    memcpy(headers, sent->headers, sizeof(sent->headers));
    return http_send(&(struct client_request){.method = "GET",
                                              .base = gateway.base,
                                              .path = "/ping",
                                              .key = org.full_key,
                                              .from = sent->from != NULL ? sent->from : PROXY,
                                              .headers = headers});
}

static void expect_all(const struct sent *table, size_t n, const char *code)
{
    for (size_t i = 0; i < n; i++) {
        struct client_response *response = send(&table[i]);
        const char *header = table[i].headers[0] != NULL ? table[i].headers[0] : "(none)";

        cr_expect_eq(response->status, table[i].status, "%s, case %zu: %d", header, i,
                     response->status);
        if (response->status == OUT)
            expect_error(response, OUT, code, "*");
    }
}

#define EXPECT_ALL(table, code) expect_all((table), ARRAY_SIZE(table), (code))

/* -- addresses --------------------------------------------------------------------------------- */

Test(proxies, a_client_is_the_first_address_from_the_right_that_is_not_trusted,
     .init = open_allowlist, .fini = close_gateway)
{
    static const struct sent table[] = {
        /* headers from an address that is not trusted are ignored */
        {STRANGER, {XFF "192.0.2.7"}, OUT},
        {STRANGER, {XFF "192.0.2.7", XFF "192.0.2.7"}, OUT},
        {STRANGER, {XFF "192.0.2.7, 127.0.0.2"}, OUT},
        {STRANGER, {NULL}, OUT},
        {"127.0.0.3", {XFF "192.0.2.7"}, OUT},
        /* one hop */
        {NULL, {XFF "192.0.2.7"}, IN},
        {NULL, {XFF "192.0.2.8"}, OUT},
        {NULL, {NULL}, OUT},
        {NULL, {XFF "2001:db8::7"}, IN},
        {NULL, {XFF "2001:DB8:0:0:0::7"}, IN},
        {NULL, {XFF "2001:db8::8"}, OUT},
        {NULL, {"x-forwarded-for:192.0.2.7"}, IN},
        {NULL, {"X-FORWARDED-FOR:   192.0.2.7   "}, IN},
        {NULL, {XFF "\t192.0.2.7\t"}, IN},
        /* several hops: what a client made up is to the left of what its proxy added */
        {NULL, {XFF "198.51.100.1, 192.0.2.7"}, IN},
        {NULL, {XFF "192.0.2.7, 198.51.100.1"}, OUT},
        {NULL, {XFF "192.0.2.7, 192.0.2.7, 198.51.100.1"}, OUT},
        {NULL, {XFF "192.0.2.7, 10.1.2.3"}, IN},
        {NULL, {XFF "192.0.2.7, 10.1.2.3, 10.255.255.255, 127.0.0.2"}, IN},
        {NULL, {XFF "192.0.2.7, 2001:db8:1:ffff::1"}, IN},
        {NULL, {XFF "192.0.2.7, 2001:db8:2::1"}, OUT},
        {NULL, {XFF "192.0.2.7, 11.0.0.0"}, OUT},
        {NULL, {XFF "192.0.2.7, 127.0.0.1"}, OUT},
        {NULL, {XFF "10.1.2.3"}, OUT},
        {NULL, {XFF "192.0.2.7,198.51.100.1,10.1.2.3"}, OUT},
        /* several headers are one list, in their order */
        {NULL, {XFF "198.51.100.1", XFF "192.0.2.7"}, IN},
        {NULL, {XFF "192.0.2.7", XFF "198.51.100.1"}, OUT},
        {NULL, {XFF "192.0.2.7", XFF "10.1.2.3"}, IN},
        {NULL, {XFF "192.0.2.7", XFF "10.1.2.3, 10.1.2.4", "x-forwarded-for: 10.1.2.5"}, IN},
        {NULL, {XFF "192.0.2.7", "X-Other: a", XFF "198.51.100.1"}, OUT},
    };

    EXPECT_ALL(table, "ip_not_allowed");
}

Test(proxies, a_hop_that_is_not_an_address_ends_the_walk, .init = open_allowlist,
     .fini = close_gateway)
{
    static const struct sent table[] = {
        {NULL, {XFF "192.0.2.7, unknown"}, OUT},
        {NULL, {XFF "unknown, 192.0.2.7"}, IN},
        {NULL, {XFF "unknown"}, OUT},
        {NULL, {XFF "192.0.2.7, _hidden"}, OUT},
        {NULL, {XFF "192.0.2.7, localhost"}, OUT},
        {NULL, {XFF "192.0.2.7, 10.1.2.3, -"}, OUT},
        /* empty entries */
        {NULL, {XFF "192.0.2.7,"}, OUT},
        {NULL, {XFF "192.0.2.7, ,10.1.2.3"}, OUT},
        {NULL, {XFF ",192.0.2.7"}, IN},
        {NULL, {XFF ","}, OUT},
        {NULL, {"X-Forwarded-For;"}, OUT},
        {NULL, {XFF "192.0.2.7", "X-Forwarded-For;"}, OUT},
        /* networks, zones, and ambiguous spellings */
        {NULL, {XFF "192.0.2.7/32"}, OUT},
        {NULL, {XFF "2001:db8::7%eth0"}, OUT},
        {NULL, {XFF "[2001:db8::7%25eth0]"}, OUT},
        {NULL, {XFF "192.0.2.07"}, OUT},
        {NULL, {XFF "192.0.519"}, OUT},
        {NULL, {XFF "3221225991"}, OUT},
        {NULL, {XFF "0xc0.0.2.7"}, OUT},
        {NULL, {XFF "192.0.2.7 198.51.100.1"}, OUT},
        {NULL, {XFF "\"192.0.2.7\""}, OUT},
        {NULL, {XFF "192.0.2.7;"}, OUT},
        {NULL, {XFF "for=192.0.2.7"}, OUT},
        {NULL, {XFF "192.0.2.256"}, OUT},
    };

    EXPECT_ALL(table, "ip_not_allowed");
}

Test(proxies, a_port_and_brackets_are_not_part_of_an_address, .init = open_allowlist,
     .fini = close_gateway)
{
    static const struct sent table[] = {
        {NULL, {XFF "192.0.2.7:4711"}, IN},
        {NULL, {XFF "[2001:db8::7]"}, IN},
        {NULL, {XFF "[2001:db8::7]:4711"}, IN},
        {NULL, {XFF "192.0.2.7, 10.1.2.3:80, [2001:db8:1::1]:443"}, IN},
        {NULL, {XFF "192.0.2.7:"}, OUT},
        {NULL, {XFF "192.0.2.7:65536"}, OUT},
        {NULL, {XFF "192.0.2.7:http"}, OUT},
        {NULL, {XFF "[192.0.2.7]"}, OUT},
        {NULL, {XFF "[2001:db8::7"}, OUT},
        {NULL, {XFF "2001:db8::7]"}, OUT},
        {NULL, {XFF "[2001:db8::7]4711"}, OUT},
        {NULL, {XFF "[[2001:db8::7]]"}, OUT},
    };

    EXPECT_ALL(table, "ip_not_allowed");
}

Test(proxies, a_mapped_address_is_its_ipv4, .init = open_allowlist, .fini = close_gateway)
{
    static const struct sent table[] = {
        {NULL, {XFF "::ffff:192.0.2.7"}, IN},      {NULL, {XFF "::FFFF:C000:0207"}, IN},
        {NULL, {XFF "[::ffff:192.0.2.7]:80"}, IN}, {NULL, {XFF "192.0.2.7, ::ffff:10.1.2.3"}, IN},
        {NULL, {XFF "::192.0.2.7"}, OUT},          {NULL, {XFF "64:ff9b::192.0.2.7"}, OUT},
        {NULL, {XFF "2002:c000:0207::"}, OUT},
    };

    EXPECT_ALL(table, "ip_not_allowed");
}

Test(proxies, only_the_header_itself_counts, .init = open_allowlist, .fini = close_gateway)
{
    static const struct sent table[] = {
        {NULL, {"X_Forwarded_For: 192.0.2.7"}, OUT},
        {NULL, {"X-Forwarded_For: 192.0.2.7"}, OUT},
        {NULL, {"X_FORWARDED_FOR: 192.0.2.7", XFF "198.51.100.1"}, OUT},
        {NULL, {XFF "192.0.2.7", "X_Forwarded_For: 198.51.100.1"}, IN},
        {NULL, {"X-Real-IP: 192.0.2.7"}, OUT},
        {NULL, {"X-Client-IP: 192.0.2.7"}, OUT},
        {NULL, {"True-Client-IP: 192.0.2.7"}, OUT},
        {NULL, {"CF-Connecting-IP: 192.0.2.7"}, OUT},
        {NULL, {"Forwarded: for=192.0.2.7"}, OUT},
        {NULL, {"X-Forwarded: 192.0.2.7"}, OUT},
        {NULL, {"X-Forwarded-For-Original: 192.0.2.7"}, OUT},
        {NULL, {"X-Forwarded-Host: 192.0.2.7"}, OUT},
        {NULL, {"Via: 1.1 192.0.2.7"}, OUT},
    };

    EXPECT_ALL(table, "ip_not_allowed");
}

/* The header with `n` hops after the first. */
static const char *long_header(const char *first, const char *hop, int n)
{
    char text[CAPACITY];
    size_t length = (size_t)snprintf(text, CAPACITY, XFF "%s", first);

    for (int i = 0; i < n; i++) {
        length += (size_t)snprintf(text + length, CAPACITY - length, ",%s", hop);
        cr_assert_lt(length, CAPACITY);
    }
    return format("%s", text);
}

Test(proxies, a_thousand_hops_are_not_walked, .init = open_allowlist, .fini = close_gateway)
{
    const struct sent table[] = {
        {NULL, {long_header("192.0.2.7", "10.1.2.3", 30)}, IN},
        {NULL, {long_header("192.0.2.7", "10.1.2.3", 1000)}, OUT},
        {NULL, {long_header("192.0.2.7", "10.0.0.1", 1000), XFF "192.0.2.7"}, IN},
        {NULL, {long_header("198.51.100.1", "198.51.100.1", 500), XFF "192.0.2.7"}, IN},
        {NULL, {long_header("", "", 1000)}, OUT},
    };

    EXPECT_ALL(table, "ip_not_allowed");
}

/* -- HTTPS ------------------------------------------------------------------------------------- */

Test(proxies, https_is_decided_by_the_nearest_proxys_last_value, .init = open_https,
     .fini = close_gateway)
{
    static const struct sent table[] = {
        {NULL, {"X-Forwarded-Proto: https"}, IN},
        {NULL, {"X-Forwarded-Proto: HTTPS"}, IN},
        {NULL, {"x-forwarded-proto:https  "}, IN},
        {NULL, {"X-Forwarded-Proto: http"}, OUT},
        {NULL, {NULL}, OUT},
        {STRANGER, {"X-Forwarded-Proto: https"}, OUT},
        {"127.0.0.3", {"X-Forwarded-Proto: https", XFF "127.0.0.2"}, OUT},
        {NULL, {"X-Forwarded-Proto: http, https"}, IN},
        {NULL, {"X-Forwarded-Proto: https, http"}, OUT},
        {NULL, {"X-Forwarded-Proto: https", "X-Forwarded-Proto: http"}, OUT},
        {NULL, {"X-Forwarded-Proto: http", "X-Forwarded-Proto: https"}, IN},
        {NULL, {"X-Forwarded-Proto: https,"}, OUT},
        {NULL, {"X-Forwarded-Proto: httpss"}, OUT},
        {NULL, {"X-Forwarded-Proto: \"https\""}, OUT},
        {NULL, {"X-Forwarded-Proto: https;q=1"}, OUT},
        {NULL, {"X_Forwarded_Proto: https"}, OUT},
        {NULL, {"X-Forwarded-Protocol: https"}, OUT},
        {NULL, {"X-Forwarded-Ssl: on"}, OUT},
        {NULL, {"X-Forwarded-Scheme: https"}, OUT},
        {NULL, {"X-Forwarded-Port: 443"}, OUT},
        {NULL, {"Front-End-Https: on"}, OUT},
        {NULL, {"Forwarded: proto=https"}, OUT},
        {NULL, {"Upgrade-Insecure-Requests: 1", "Origin: https://127.0.0.1"}, OUT},
    };

    EXPECT_ALL(table, "https_required");
}

/* -- keys in headers --------------------------------------------------------------------------- */

static const char *with_key(const char *pattern)
{
    const char *text = format("%.*s", (int)strcspn(pattern, "@"), pattern);

    for (const char *at = strchr(pattern, '@'); at != NULL; at = strchr(at + 1, '@'))
        text = format("%s%s%.*s", text, org.full_key, (int)strcspn(at + 1, "@"), at + 1);
    return text;
}

Test(proxies, a_key_is_taken_from_one_header_in_one_form, .init = stack_share)
{
    static const struct {
        const char *headers[3]; /* @ is the key */
        int status;
    } table[] = {
        {{"Authorization: Bearer @"}, 200},
        {{"authorization:bearer @"}, 200},
        {{"Authorization:  \t Bearer @"}, 200},
        {{"Authorization: bEaReR @"}, 200},
        {{"Authorization: Bearer @", "Authorization: Bearer @"}, 401},
        {{"Authorization: Bearer @", "Authorization: Basic eDp5"}, 401},
        {{"Authorization: Basic eDp5", "Authorization: Bearer @"}, 401},
        {{"Authorization: Bearer @, Bearer @"}, 401},
        {{"Authorization: Bearer @%20"}, 401},
        {{"Authorization: Bearer token=@"}, 401},
        {{"Authorization: BearerBearer @"}, 401},
        {{"Authorization: Bearer \xc2\xa0@"}, 401},
        {{"Authorization_: Bearer @"}, 401},
        {{"Proxy-Authorization: Bearer @"}, 401},
        {{"X-Authorization: Bearer @"}, 401},
        {{"X-Api-Key: @", "Cookie: key=@"}, 401},
        {{"Api-Key: @"}, 401},
    };

    org_new(&org);
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        const char *headers[] = {NULL, NULL, NULL};
        struct client_response *response;

        for (size_t j = 0; table[i].headers[j] != NULL; j++)
            headers[j] = with_key(table[i].headers[j]);
        response = http_send(
            &(struct client_request){.method = "GET", .path = "/ping", .headers = headers});
        cr_expect_eq(response->status, table[i].status, "%s: %d", table[i].headers[0],
                     response->status);
    }
}

/* -- what an operator may list ----------------------------------------------------------------- */

Test(proxies, a_listed_address_is_kept_in_its_canonical_spelling_and_once, .init = stack_share)
{
    static const struct {
        const char *given, *kept; /* NULL: refused */
    } table[] = {
        {"192.0.2.1", "192.0.2.1"},
        {"::ffff:192.0.2.1", "192.0.2.1"},
        {"::FFFF:c000:201", "192.0.2.1"},
        {"2001:DB8:0:0:0:0:0:1", "2001:db8::1"},
        {"2001:0db8::0001", "2001:db8::1"},
        {"2001:db8::1:0:0:1", "2001:db8::1:0:0:1"},
        {"::", "::"},
        {"::1", "::1"},
        {"0.0.0.0", "0.0.0.0"},
        {"192.0.2.0/24", NULL},
        {"192.0.2.1/32", NULL},
        {"2001:db8::/64", NULL},
        {"fe80::1%eth0", NULL},
        {"fe80::1%1", NULL},
        {"192.0.2", NULL},
        {"192.0.2.1.", NULL},
        {"192.0.2.010", NULL},
        {"0300.0.2.1", NULL},
        {"[2001:db8::1]", NULL},
        {"192.0.2.1:80", NULL},
        {"192.0.2.1,192.0.2.2", NULL},
        {"*", NULL},
        {"example.com", NULL},
        {"2001:db8:::1", NULL},
        {"1:2:3:4:5:6:7:8:9", NULL},
        {"::ffff:192.0.2.256", NULL},
        {"\xef\xbc\x91.2.3.4", NULL}, /* a full-width digit */
    };
    char code[64];

    org_new(&org);
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        json_t *policy;

        if (table[i].kept == NULL) {
            cr_expect_eq(
                convctl_fails(code, "policy", "set", "--org", org.id, "--ip", table[i].given, NULL),
                1, "%s", table[i].given);
            continue;
        }
        policy = convctl("policy", "set", "--org", org.id, "--ip", table[i].given, "--ip",
                         table[i].kept, NULL);
        cr_expect_str_eq(
            json_string_value(json_array_get(json_object_get(policy, "ip_allowlist"), 0)),
            table[i].kept);
        cr_expect_eq(json_array_size(json_object_get(policy, "ip_allowlist")), 1, "%s",
                     table[i].given);
        json_decref(policy);
    }
}
