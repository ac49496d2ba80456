/* Contract 4.2: the fields of a create, what each may hold, and the error for anything else. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "tests/support/api_client.h"
#include "tests/support/sql.h"

TestSuite(create_fields, .init = stack_share);

static int64_t count_of(const char *table, const struct org *org)
{
    return sql_integer(
        format("SELECT count(*) FROM conversation.%s WHERE organization_id = $1::uuid", table),
        org->id, NULL);
}

/* A character as JSON text writes it, repeated. */
static char *repeat(const char *piece, int times)
{
    char *text = malloc(strlen(piece) * (size_t)times + 1);

    cr_assert_not_null(text);
    text[0] = '\0';
    for (int i = 0; i < times; i++)
        strcat(text, piece);
    return text;
}

#define FROM              "\"from\":{\"external_id\":\"c\"}"
#define ID                "\"external_id\":\"e\""
#define AND_FROM(members) "{" ID ",\"from\":{\"external_id\":\"c\"," members "}}"

struct wrong {
    const char *body, *code, *field;
};

static const struct wrong wrongs[] = {
    {"[]", "parameter_invalid", "*"},
    {"\"text\"", "parameter_invalid", "*"},
    {"null", "parameter_invalid", "*"},
    {"7", "parameter_invalid", "*"},
    {"{}", "parameter_not_found", "external_id"},
    {"{" FROM "}", "parameter_not_found", "external_id"},
    {"{" ID "}", "parameter_not_found", "from"},
    {"{" ID ",\"from\":{}}", "parameter_not_found", "from.external_id"},
    {"{" ID ",\"from\":{\"name\":\"x\"}}", "parameter_not_found", "from.external_id"},
    {"{\"external_id\":\"\"," FROM "}", "parameter_invalid", "external_id"},
    {"{\"external_id\":7," FROM "}", "parameter_invalid", "external_id"},
    {"{\"external_id\":null," FROM "}", "parameter_invalid", "external_id"},
    {"{\"external_id\":[\"e\"]," FROM "}", "parameter_invalid", "external_id"},
    {"{\"external_id\":\" e\"," FROM "}", "parameter_invalid", "external_id"},
    {"{\"external_id\":\"e \"," FROM "}", "parameter_invalid", "external_id"},
    {"{\"external_id\":\"e\\n\"," FROM "}", "parameter_invalid", "external_id"},
    {"{\"external_id\":\"\\u00a0e\"," FROM "}", "parameter_invalid", "external_id"},
    {"{\"external_id\":\"e\\u3000\"," FROM "}", "parameter_invalid", "external_id"},
    {"{\"external_id\":\"a\\u0000b\"," FROM "}", "parameter_invalid", "external_id"},
    {"{\"external_id\":\"a\\ud800b\"," FROM "}", "invalid_json", "*"},
    {"{" ID ",\"from\":\"c\"}", "parameter_invalid", "from"},
    {"{" ID ",\"from\":null}", "parameter_invalid", "from"},
    {"{" ID ",\"from\":[]}", "parameter_invalid", "from"},
    {"{" ID ",\"from\":{\"external_id\":\"\"}}", "parameter_invalid", "from.external_id"},
    {"{" ID ",\"from\":{\"external_id\":\" c\"}}", "parameter_invalid", "from.external_id"},
    {"{" ID ",\"from\":{\"external_id\":null}}", "parameter_invalid", "from.external_id"},
    {"{" ID ",\"from\":{\"external_id\":1}}", "parameter_invalid", "from.external_id"},
    {"{" ID ",\"from\":{\"id\":\"x\"}}", "parameter_invalid", "from.id"},
    {"{" ID ",\"from\":{\"id\":7}}", "parameter_invalid", "from.id"},
    {AND_FROM("\"id\":\"01890000-0000-7000-8000-000000000000\""), "parameter_invalid", "*"},
    {AND_FROM("\"type\":\"robot\""), "parameter_invalid", "from.type"},
    {AND_FROM("\"type\":\"User\""), "parameter_invalid", "from.type"},
    {AND_FROM("\"type\":null"), "parameter_invalid", "from.type"},
    {AND_FROM("\"name\":7"), "parameter_invalid", "from.name"},
    {AND_FROM("\"name\":null"), "parameter_invalid", "from.name"},
    {AND_FROM("\"name\":\"a\\u0000\""), "parameter_invalid", "from.name"},
    {AND_FROM("\"email\":{}"), "parameter_invalid", "from.email"},
    {AND_FROM("\"email\":null"), "parameter_invalid", "from.email"},
    {AND_FROM("\"phone\":49"), "parameter_invalid", "from.phone"},
    {AND_FROM("\"phone\":null"), "parameter_invalid", "from.phone"},
    {AND_FROM("\"age\":1"), "parameter_invalid", "from.age"},
    {AND_FROM("\"organization_id\":\"x\""), "parameter_invalid", "from.organization_id"},
    {"{" ID "," FROM ",\"body\":\"Hello\"}", "parameter_invalid", "body"},
    {"{" ID "," FROM ",\"organization_id\":\"x\"}", "parameter_invalid", "organization_id"},
    {"{" ID "," FROM ",\"workspace_id\":\"x\"}", "parameter_invalid", "workspace_id"},
    {"{" ID "," FROM ",\"status\":\"resolved\"}", "parameter_invalid", "status"},
    {"{" ID "," FROM ",\"custom_attributes\":null}", "parameter_invalid", "custom_attributes"},
    {"{" ID "," FROM ",\"custom_attributes\":[]}", "parameter_invalid", "custom_attributes"},
    {"{" ID "," ID "," FROM "}", "invalid_json", "*"},
    {"{" ID ",\"from\":{\"external_id\":\"c\",\"external_id\":\"c\"}}", "invalid_json", "*"},
};

Test(create_fields, a_field_that_breaks_the_contract_is_named)
{
    struct org org;

    org_new(&org);
    for (size_t i = 0; i < ARRAY_SIZE(wrongs); i++) {
        struct client_response *response = api_post(org.full_key, "/conversations", wrongs[i].body);

        cr_assert_eq(response->status, 400, "%s: %d %s", wrongs[i].body, response->status,
                     response->body);
        cr_assert_str_eq(text_at(response, "errors[0].code"), wrongs[i].code, "%s: %s",
                         wrongs[i].body, response->body);
        expect_error(response, 400, wrongs[i].code, wrongs[i].field);
    }
    cr_assert_eq(count_of("conversations", &org), 0);
    cr_assert_eq(count_of("contacts", &org), 0);
}

Test(create_fields, lengths_are_counted_in_characters_up_to_the_limits_of_the_contract)
{
    static const struct {
        const char *field, *format; /* %s: the text */
        int max;
    } limits[] = {
        {"external_id", "{\"external_id\":\"%s\",\"from\":{\"external_id\":\"c\"}}", 255},
        {"from.external_id", "{\"external_id\":\"l1\",\"from\":{\"external_id\":\"%s\"}}", 255},
        {"from.name", "{\"external_id\":\"l2\",\"from\":{\"external_id\":\"c\",\"name\":\"%s\"}}",
         255},
        {"from.email", "{\"external_id\":\"l3\",\"from\":{\"external_id\":\"c\",\"email\":\"%s\"}}",
         255},
        {"from.phone", "{\"external_id\":\"l4\",\"from\":{\"external_id\":\"c\",\"phone\":\"%s\"}}",
         50},
    };
    struct org org;

    org_new(&org);
    for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
        const char *before = limits[i].format, *place = strstr(before, "%s");

        for (int over = 1; over >= 0; over--) {
            char *text = repeat("\xf0\x9f\x99\x82", limits[i].max + over);
            struct client_response *response = api_create(
                org.full_key, "%.*s%s%s", (int)(place - before), before, text, place + 2);

            if (over)
                expect_error(response, 400, "parameter_invalid", limits[i].field);
            else
                expect_status(response, 201);
            free(text);
        }
    }
}

Test(create_fields, strings_come_back_as_they_were_sent)
{
    static const char *const texts[] = {
        "plain",
        "\xc3\xa9t\xc3\xa9",
        "a\\u00e9",
        "e\xcc\x81",
        "\xf0\x9f\x99\x82",
        "a\\\"b\\\\c\\/d",
        "tab\\tinside",
        "'; DROP TABLE x; --",
        "$1",
        "%s%n",
        "a  b",
        "\\u202eabc",
        "{}",
        "x\\ud83d\\ude42",
    };
    struct org org;

    org_new(&org);
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct client_response *response =
            api_create(org.full_key,
                       "{\"external_id\":\"%s\",\"from\":{\"external_id\":\"%s\",\"name\":\"%s\"}}",
                       texts[i], texts[i], texts[i]);
        const char *quoted = format("\"%s\"", texts[i]);

        expect_status(response, 201);
        expect_json(response, "external_id", quoted);
        expect_json(response, "contact.external_id", quoted);
        expect_json(response, "contact.name", quoted);
        expect_json(read_conversation(&org, text_at(response, "id")), "external_id", quoted);
    }
}
