#include "services/convctl/arguments.h"

#include <criterion/criterion.h>
#include <string.h>

#define ORG "01920000-0000-7000-8000-000000000001"
#define ID  "01920000-0000-7000-8000-00000000000a"

#define READ(...)                                                                                  \
    read_words((const char *const[]){"convctl", __VA_ARGS__},                                      \
               sizeof((const char *const[]){"convctl", __VA_ARGS__}) / sizeof(char *))

static struct arguments arguments;
static char error[256];

static enum status read_words(const char *const *words, size_t n)
{
    arguments_release(&arguments);
    strcpy(error, "");
    return arguments_read((int)n, words, &arguments, error);
}

static void expect_body(const char *expected)
{
    char *text = json_dumps(arguments.body, JSON_COMPACT);

    cr_expect_str_eq(text, expected);
    free(text);
}

Test(arguments, make_the_body_from_options)
{
    cr_assert_eq(READ("org", "create", "--name", "Acme", "--plan", "growth"), ST_OK, "%s", error);
    cr_assert_str_eq(arguments.call->subject, "v1.access.org-create");
    cr_assert_null(arguments.organization);
    expect_body("{\"name\":\"Acme\",\"plan\":\"growth\"}");
}

Test(arguments, put_the_organization_outside_the_body)
{
    cr_assert_eq(READ("org", "set", ORG, "--rate-limit", "500"), ST_OK, "%s", error);
    cr_assert_str_eq(arguments.organization, ORG);
    expect_body("{\"rate_limit\":500}");
}

Test(arguments, make_no_body_if_the_call_has_none)
{
    cr_assert_eq(READ("key", "list", "--org", ORG), ST_OK, "%s", error);
    cr_assert_null(arguments.body);
}

Test(arguments, make_an_empty_object_when_every_option_is_left_out)
{
    cr_assert_eq(READ("audit", "export", "--org", ORG), ST_OK, "%s", error);
    expect_body("{}");
}

Test(arguments, come_in_any_order_and_with_an_equals_sign)
{
    cr_assert_eq(
        READ("conversation", "set-status", ID, "--org=" ORG, "--nats", "nats://h", "resolved"),
        ST_OK, "%s", error);
    cr_assert_str_eq(arguments.nats_url, "nats://h");
    cr_assert_str_eq(arguments.organization, ORG);
    expect_body("{\"id\":\"" ID "\",\"status\":\"resolved\"}");
}

Test(arguments, collect_repeated_options_in_an_array)
{
    cr_assert_eq(READ("policy", "set", "--org", ORG, "--ip", "10.0.0.1", "--require-https", "false",
                      "--ip", "::1"),
                 ST_OK, "%s", error);
    expect_body("{\"ip_allowlist\":[\"10.0.0.1\",\"::1\"],\"require_https\":false}");
}

Test(arguments, take_several_values_in_a_row_if_repeatable)
{
    cr_assert_eq(READ("webhook", "create", "--org", ORG, "--event", "ticket.created", "ai.handoff",
                      "--url", "https://h.example", "--event", "ticket.resolved"),
                 ST_OK, "%s", error);
    expect_body("{\"events\":[\"ticket.created\",\"ai.handoff\",\"ticket.resolved\"],"
                "\"url\":\"https://h.example\"}");
}

Test(arguments, take_a_value_that_looks_like_an_option)
{
    cr_assert_eq(READ("org", "create", "--name", "--plan"), ST_OK, "%s", error);
    expect_body("{\"name\":\"--plan\"}");
}

Test(arguments, are_positions_after_two_dashes)
{
    cr_assert_eq(READ("conversation", "set-status", "--org", ORG, "--", ID, "--odd"), ST_OK, "%s",
                 error);
    expect_body("{\"id\":\"" ID "\",\"status\":\"--odd\"}");
}

Test(arguments, leave_the_password_to_standard_input)
{
    cr_assert_eq(READ("user", "create", "--org", ORG, "--email", "a@b", "--role", "owner",
                      "--password-stdin"),
                 ST_OK, "%s", error);
    cr_assert_str_eq(arguments.stdin_field, "password");
    expect_body("{\"email\":\"a@b\",\"role\":\"owner\"}");
}

Test(arguments, turn_off_what_an_option_without_a_value_names)
{
    cr_assert_eq(READ("webhook", "create", "--org", ORG, "--no-signing", "--url", "https://a.b",
                      "--event", "x", "--event", "y"),
                 ST_OK, "%s", error);
    expect_body("{\"signing\":false,\"url\":\"https://a.b\",\"events\":[\"x\",\"y\"]}");
    cr_assert_eq(READ("webhook", "create", "--org", ORG, "--no-signing=false", "--url",
                      "https://a.b", "--event", "x"),
                 ST_REFUSED);
    cr_assert_str_eq(error, "--no-signing takes no value");
}

Test(arguments, say_that_something_is_to_be_empty_or_the_default)
{
    cr_assert_eq(READ("policy", "set", "--org", ORG, "--no-ip"), ST_OK, "%s", error);
    expect_body("{\"ip_allowlist\":[]}");
    cr_assert_eq(READ("org", "set", ORG, "--rate-limit", "default"), ST_OK, "%s", error);
    expect_body("{\"rate_limit\":null}");
}

Test(arguments, leave_the_range_of_a_number_to_the_service)
{
    cr_assert_eq(READ("audit", "retain", "--org", ORG, "--months", "-1"), ST_OK, "%s", error);
    expect_body("{\"months\":-1}");
}

Test(arguments, pass_json_on_as_a_value)
{
    cr_assert_eq(
        READ("event", "publish", "--org", ORG, "--type", "t", "--data", "{\"a\":[1,null]}"), ST_OK,
        "%s", error);
    expect_body("{\"type\":\"t\",\"data\":{\"a\":[1,null]}}");
    cr_assert_eq(READ("event", "publish", "--org", ORG, "--type", "t", "--data", "{a}"),
                 ST_REFUSED);
    cr_assert_str_eq(error, "--data must be JSON");
}

Test(arguments, ask_for_help_on_everything_or_on_a_group)
{
    cr_assert_eq(READ("--help"), ST_OK);
    cr_assert(arguments.help);
    cr_assert_null(arguments.group);
    cr_assert_eq(READ("key", "create", "--help"), ST_OK);
    cr_assert(arguments.help);
    cr_assert_str_eq(arguments.group, "key");
}

Test(arguments, ask_for_the_version_and_nothing_else)
{
    cr_assert_eq(READ("--version"), ST_OK);
    cr_assert(arguments.version);
    cr_assert_eq(READ("org", "create", "--version", "--odd"), ST_OK);
    cr_assert(arguments.version);
}

static void expect_wrong(const char *const *words, size_t n, const char *sentence)
{
    cr_expect_eq(read_words(words, n), ST_REFUSED, "accepted: %s", sentence);
    cr_expect_str_eq(error, sentence);
}

#define WRONG(sentence, ...)                                                                       \
    expect_wrong((const char *const[]){"convctl", __VA_ARGS__},                                    \
                 sizeof((const char *const[]){"convctl", __VA_ARGS__}) / sizeof(char *), sentence)

Test(arguments, name_what_is_wrong)
{
    const char *const nothing[] = {"convctl"};

    expect_wrong(nothing, 1, "a group is missing, see convctl --help");
    WRONG("unknown group, see convctl --help", "orgs");
    WRONG("a verb is missing, see convctl org --help", "org");
    WRONG("unknown verb of org, see convctl org --help", "org", "make");
    WRONG("--name is missing", "org", "create");
    WRONG("nothing to change, see convctl policy --help", "policy", "set", "--org", ORG);
    WRONG("nothing to change, see convctl org --help", "org", "set", ORG);
    WRONG("nothing to change, see convctl webhook --help", "webhook", "set", "--org", ORG, ORG);
    WRONG("--no-ip and --ip exclude each other", "policy", "set", "--org", ORG, "--no-ip", "--ip",
          "::1");
    WRONG("--ip and --no-ip exclude each other", "policy", "set", "--org", ORG, "--ip", "::1",
          "--no-ip");
    WRONG("--rate-limit must be an integer or default", "org", "set", ORG, "--rate-limit", "no");
    WRONG("--name needs a value", "org", "create", "--name");
    WRONG("--name is given twice", "org", "create", "--name", "a", "--name", "b");
    WRONG("--plan must be free|starter|growth|enterprise", "org", "create", "--plan", "gold");
    WRONG("--plan must be free|starter|growth|enterprise", "org", "create", "--plan",
          "free|starter");
    WRONG("unknown option --colour", "org", "create", "--colour=red");
    WRONG("unknown option --names", "org", "create", "--names", "a");
    WRONG("ORG must be a UUID in lower case", "org", "get", "7");
    WRONG("ORG is missing", "org", "get");
    WRONG("too many arguments", "org", "get", ORG, ORG);
    WRONG("too many arguments", "webhook", "create", "--event", "a", "--url", "b", "c");
    WRONG("too many arguments", "policy", "set", "--ip", "10.0.0.1", "--", "10.0.0.2");
    WRONG("--rate-limit must be an integer or default", "org", "set", ORG, "--rate-limit", "");
    WRONG("KEY_ID must be a UUID in lower case", "key", "revoke", "--org", ORG, "x");
    WRONG("--require-https must be true|false", "policy", "set", "--require-https", "yes");
    WRONG("--password-stdin takes no value", "user", "create", "--password-stdin=secret");
    WRONG("--name must be text in UTF-8", "org", "create", "--name", "\xff");
}
