/* Contract 2.3: custom attributes, the same rules on create and on update. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "tests/support/api_client.h"

TestSuite(attributes, .init = stack_share);

#define A50  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define A64  A50 "aaaaaaaaaaaaaa"
#define A500 A50 A50 A50 A50 A50 A50 A50 A50 A50 A50

static struct client_response *send(const struct org *org, const char *id, bool on_create,
                                    const char *attributes)
{
    static int n;

    if (!on_create)
        return update_conversation(org, id, "{\"custom_attributes\":%s}", attributes);
    return api_create(org->full_key,
                      "{\"external_id\":\"n%d\",\"from\":{\"external_id\":\"c\"},"
                      "\"custom_attributes\":%s}",
                      n++, attributes);
}

Test(attributes, allowed_values_are_stored_and_returned_unchanged)
{
    static const char *const good[] = {
        "{}",
        "{\"a\":\"\"}",
        "{\"a\":\"text\"}",
        "{\"a\":\"  spaces stay  \"}",
        "{\"a\":\"\\u00e9\\ud83d\\ude42\\n\\t\"}",
        "{\"a\":\"" A500 "\"}",
        "{\"a\":true,\"b\":false}",
        "{\"a\":0}",
        "{\"a\":-1}",
        "{\"a\":9007199254740992}",
        "{\"a\":-9007199254740992}",
        "{\"a\":0.1}",
        "{\"a\":2.50}",
        "{\"a\":123456789.123456789}",
        "{\"" A64 "\":1}",
        "{\"a1\":1,\"a_b\":2,\"a-b\":3,\"a.b\":4,\"Z\":5,\"z9_-.\":6}",
        "{\"serviceable\":1,\"service-x\":2,\"xservice_\":3}",
    };
    struct org org;
    const char *id;

    org_new(&org);
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        for (int on_create = 0; on_create < 2; on_create++) {
            struct client_response *response;

            id = new_conversation(&org, format("g%zu-%d", i, on_create), "c");
            response = send(&org, id, on_create, good[i]);
            expect_status(response, on_create ? 201 : 200);
            expect_json(response, "custom_attributes", good[i]);
            expect_json(read_conversation(&org, text_at(response, "id")), "custom_attributes",
                        good[i]);
        }
    }
}

struct wrong {
    const char *attributes, *code, *field;
};

static const struct wrong wrongs[] = {
    {"{\"\":1}", "parameter_invalid", "*"},
    {"{\"" A64 "a\":1}", "parameter_invalid", "*"},
    {"{\"1a\":1}", "parameter_invalid", "custom_attributes.1a"},
    {"{\"_a\":1}", "parameter_invalid", "custom_attributes._a"},
    {"{\".a\":1}", "parameter_invalid", "custom_attributes..a"},
    {"{\"-a\":1}", "parameter_invalid", "custom_attributes.-a"},
    {"{\"a b\":1}", "parameter_invalid", "custom_attributes.a b"},
    {"{\"a$\":1}", "parameter_invalid", "custom_attributes.a$"},
    {"{\"\\u00e9\":1}", "parameter_invalid", "custom_attributes.\xc3\xa9"},
    {"{\"a\\u00e9\":1}", "parameter_invalid", "custom_attributes.a\xc3\xa9"},
    {"{\"a\\u0000\":1}", "invalid_json", "*"},
    {"{\"service_x\":1}", "parameter_invalid", "custom_attributes.service_x"},
    {"{\"Service_x\":1}", "parameter_invalid", "custom_attributes.Service_x"},
    {"{\"SERVICE_\":1}", "parameter_invalid", "custom_attributes.SERVICE_"},
    {"{\"service_x\":null}", "parameter_invalid", "custom_attributes.service_x"},
    {"{\"1a\":null}", "parameter_invalid", "custom_attributes.1a"},
    {"{\"a\":{}}", "parameter_invalid", "custom_attributes.a"},
    {"{\"a\":{\"b\":1}}", "parameter_invalid", "custom_attributes.a"},
    {"{\"a\":[]}", "parameter_invalid", "custom_attributes.a"},
    {"{\"a\":[1,2]}", "parameter_invalid", "custom_attributes.a"},
    {"{\"a\":\"" A500 "a\"}", "parameter_invalid", "custom_attributes.a"},
    {"{\"a\":\"x\\u0000y\"}", "parameter_invalid", "custom_attributes.a"},
    {"{\"a\":\"\\ud800\"}", "invalid_json", "*"},
    {"{\"a\":\"\xff\"}", "invalid_json", "*"},
    {"{\"a\":\"\xed\xa0\x80\"}", "invalid_json", "*"},
    {"{\"a\":1e400}", "*", "*"},
    {"{\"a\":NaN}", "invalid_json", "*"},
    {"{\"a\":Infinity}", "invalid_json", "*"},
    {"{\"a\":01}", "invalid_json", "*"},
    {"{\"a\":+1}", "invalid_json", "*"},
    {"{\"a\":.5}", "invalid_json", "*"},
    {"{\"a\":0x10}", "invalid_json", "*"},
    {"{\"a\":1,\"a\":1}", "invalid_json", "*"},
    {"{\"a\":'x'}", "invalid_json", "*"},
    {"{a:1}", "invalid_json", "*"},
    {"{\"a\":1,}", "invalid_json", "*"},
    {"\"{}\"", "parameter_invalid", "custom_attributes"},
    {"[]", "parameter_invalid", "custom_attributes"},
    {"true", "parameter_invalid", "custom_attributes"},
};

/* The message begins with the attribute's path, as contract 7 requires. */
static void expect_named(const struct client_response *response)
{
    const char *const start = format("%s must ", text_at(response, "errors[0].field"));
    const char *const message = text_at(response, "errors[0].message");

    cr_assert_eq(strncmp(message, start, strlen(start)), 0, "%s", message);
}

Test(attributes, fields_that_break_a_rule_are_named_by_their_path)
{
    struct org org;
    const char *id;

    org_new(&org);
    id = new_conversation(&org, "e", "c");
    for (size_t i = 0; i < ARRAY_SIZE(wrongs); i++) {
        for (int on_create = 0; on_create < 2; on_create++) {
            struct client_response *response = send(&org, id, on_create, wrongs[i].attributes);
            const char *code = wrongs[i].code;

            cr_assert_eq(response->status, 400, "%s: %d", wrongs[i].attributes, response->status);
            if (strcmp(code, "*") == 0)
                code = text_at(response, "errors[0].code");
            expect_error(response, 400, code, wrongs[i].field);
            if (strcmp(code, "parameter_invalid") == 0)
                expect_named(response);
        }
    }
    expect_json(read_conversation(&org, id), "custom_attributes", "{}");
}

Test(attributes, five_hundred_characters_are_counted_not_bytes)
{
    struct org org;
    const char *id;
    char text[501 * 4 + 1] = "";

    org_new(&org);
    id = new_conversation(&org, "e", "c");
    for (int i = 0; i < 500; i++)
        memcpy(text + 4 * i, "\xf0\x9f\x99\x82", 5);
    expect_status(update_conversation(&org, id, "{\"custom_attributes\":{\"a\":\"%s\"}}", text),
                  200);
    memcpy(text + 2000, "\xf0\x9f\x99\x82", 5);
    expect_error(update_conversation(&org, id, "{\"custom_attributes\":{\"a\":\"%s\"}}", text), 400,
                 "parameter_invalid", "custom_attributes.a");
}

Test(attributes, integers_and_decimals_keep_their_value_to_the_last_digit)
{
    static const char *const numbers[] = {"1",      "9007199254740991",  "-9007199254740992", "0.1",
                                          "1.10",   "3.141592653589793", "-0.000001",         "1e3",
                                          "1.5e-7", "100000000000000000"};
    struct org org;
    const char *id;

    org_new(&org);
    id = new_conversation(&org, "e", "c");
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        struct client_response *response =
            update_conversation(&org, id, "{\"custom_attributes\":{\"n\":%s}}", numbers[i]);
        double sent = strtod(numbers[i], NULL);

        expect_status(response, 200);
        cr_assert_eq(json_number_value(at(response, "custom_attributes.n")), sent, "%s: %s",
                     numbers[i], response->body);
    }
    cr_assert_not_null(strstr(
        update_conversation(&org, id, "{\"custom_attributes\":{\"n\":123456789.123456789}}")->body,
        "123456789.123456789"));
}

/* Compares answers as text: the tests' JSON library has no integers this large. */
Test(attributes, integers_beyond_64_bits_are_stored_and_found)
{
    static const char *const numbers[] = {"9223372036854775808", "18446744073709551615",
                                          "-100000000000000000000"};
    struct org org;
    struct client_request update = {.method = "PUT", .skip_checks = true};
    struct client_request search = {
        .method = "POST", .path = "/conversations/search", .skip_checks = true};

    org_new(&org);
    update.key = search.key = org.full_key;
    update.path = format("/conversations/%s", new_conversation(&org, "e", "c"));
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        const char *stored = format("\"custom_attributes\":{\"n\":%s}", numbers[i]);
        struct client_response *response;

        update.body = format("{\"custom_attributes\":{\"n\":%s}}", numbers[i]);
        response = http_send(&update);
        cr_assert_eq(response->status, 200, "%s", response->body);
        cr_assert_not_null(strstr(response->body, stored), "%s", response->body);

        search.body =
            format("{\"query\":{\"operator\":\"AND\",\"value\":["
                   "{\"field\":\"contact.external_id\",\"operator\":\"=\",\"value\":\"c\"},"
                   "{\"field\":\"custom_attributes.n\",\"operator\":\"=\",\"value\":%s}]}}",
                   numbers[i]);
        response = http_send(&search);
        cr_assert_eq(response->status, 200, "%s", response->body);
        cr_assert_not_null(strstr(response->body, stored), "%s", response->body);
    }
}

Test(attributes, are_readable_by_a_key_that_may_only_read)
{
    struct org org;
    const char *id;

    org_new(&org);
    id = new_conversation(&org, "e", "c");
    update_conversation(&org, id, "{\"custom_attributes\":{\"a\":1}}");
    expect_json(api_get(org.read_key, format("/conversations/%s", id)), "custom_attributes",
                "{\"a\":1}");
}
