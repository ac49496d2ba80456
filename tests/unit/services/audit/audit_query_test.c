#include "services/audit/audit_query.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <string.h>

static struct arena arena;
static struct errors errors;
static struct audit_query query;

static bool reads(const char *text)
{
    arena_clear(&arena);
    errors_init(&errors, &arena);
    return audit_query_read(str_of(text), &arena, &query, &errors);
}

static void open_arena(void)
{
    arena_init(&arena, 1 << 20);
}

static void close_arena(void)
{
    arena_release(&arena);
}

TestSuite(audit_query, .init = open_arena, .fini = close_arena);

Test(audit_query, nothing_at_all_means_the_defaults)
{
    cr_assert(reads(NULL));
    cr_assert_eq(query.per_page, 50);
    cr_assert_null(query.starting_after.p);
    cr_assert_null(query.operation.p);
    cr_assert_null(query.outcome.p);
    cr_assert_null(query.api_key_id.p);
    cr_assert_null(query.conversation_id.p);
    cr_assert_eq(query.after_s, -1);
    cr_assert_eq(query.before_s, UNIX_SECONDS_MAX + 1);
    cr_assert(reads(""));
    cr_assert(reads("&&"));
}

Test(audit_query, reads_every_parameter)
{
    cr_assert(reads("per_page=7&starting_after=abc_-9&operation=conversation.create&outcome=denied"
                    "&api_key_id=01890000-0000-7000-8000-000000000001"
                    "&conversation_id=01890000-0000-7000-8000-000000000002"
                    "&created_at_after=0&created_at_before=253402300799"));
    cr_assert_eq(query.per_page, 7);
    cr_assert(str_equal(query.starting_after, STR("abc_-9")));
    cr_assert(str_equal(query.operation, STR("conversation.create")));
    cr_assert(str_equal(query.outcome, STR("denied")));
    cr_assert(str_equal(query.api_key_id, STR("01890000-0000-7000-8000-000000000001")));
    cr_assert(str_equal(query.conversation_id, STR("01890000-0000-7000-8000-000000000002")));
    cr_assert_eq(query.after_s, 0);
    cr_assert_eq(query.before_s, 253402300799);
}

Test(audit_query, decodes_names_and_values)
{
    cr_assert(reads("per%5Fpage=%31%30&oper%61tion=audit%2Elist"));
    cr_assert_eq(query.per_page, 10);
    cr_assert(str_equal(query.operation, STR("audit.list")));
}

struct wrong {
    char text[128];
    char field[64];
};

ParameterizedTestParameters(audit_query, names_the_parameter_that_is_wrong)
{
    static struct wrong wrongs[] = {
        {"per_page=0", "per_page"},
        {"per_page=101", "per_page"},
        {"per_page=-1", "per_page"},
        {"per_page=", "per_page"},
        {"per_page", "per_page"},
        {"per_page=5.0", "per_page"},
        {"per_page=5+", "per_page"},
        {"per_page=%35%00", "per_page"},
        {"per_page=18446744073709551617", "per_page"},
        {"per_page=1&per_page=1", "per_page"},
        {"page=1", "page"},
        {"Per_page=1", "Per_page"},
        {"=1", ""},
        {"operation=", "operation"},
        {"operation=PING", "operation"},
        {"operation=conversation.delete", "operation"},
        {"outcome=refused", "outcome"},
        {"outcome=", "outcome"},
        {"api_key_id=7", "api_key_id"},
        {"api_key_id=01890000-0000-7000-8000-00000000000A", "api_key_id"},
        {"conversation_id=01890000000070008000000000000001", "conversation_id"},
        {"created_at_after=-1", "created_at_after"},
        {"created_at_after=1.5", "created_at_after"},
        {"created_at_after=1e3", "created_at_after"},
        {"created_at_before=253402300800", "created_at_before"},
        {"created_at_before=now", "created_at_before"},
        {"outcome=%zz", "outcome"},
        {"outcome=%4", "outcome"},
        {"outcome=%", "outcome"},
        {"outcome=%ff", "outcome"},
        {"outcome=allowed%00", "outcome"},
        {"per%zzpage=1", "per%zzpage"},
        {"organization_id=01890000-0000-7000-8000-000000000001", "organization_id"},
    };

    return cr_make_param_array(struct wrong, wrongs, ARRAY_SIZE(wrongs));
}

ParameterizedTest(struct wrong *wrong, audit_query, names_the_parameter_that_is_wrong,
                  .init = open_arena, .fini = close_arena)
{
    cr_assert_not(reads(wrong->text), "%s", wrong->text);
    cr_assert_eq(errors.n, 1, "%s", wrong->text);
    cr_assert_str_eq(errors.at[0].code, "parameter_invalid");
    cr_assert_str_eq(errors.at[0].field, wrong->field, "%s", wrong->text);
}

Test(audit_query, does_not_repeat_a_name_that_is_not_text_or_too_long)
{
    char text[80];

    cr_assert_not(reads("%ff=1"));
    cr_assert_str_eq(errors.at[0].field, "%ff");
    cr_assert_not(reads("\xff=1"));
    cr_assert_null(errors.at[0].field);
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    cr_assert_not(reads(text));
    cr_assert_null(errors.at[0].field);
}

Test(audit_query, lists_up_to_ten_errors_in_order)
{
    char text[256] = "";

    for (int i = 0; i < 20; i++) {
        size_t n = strlen(text);

        snprintf(text + n, sizeof(text) - n, "&p%d=1", i);
    }
    cr_assert_not(reads(text));
    cr_assert_eq(errors.n, ERRORS_MAX);
    cr_assert_str_eq(errors.at[0].field, "p0");
    cr_assert_str_eq(errors.at[9].field, "p9");
}

static struct str binding_of(const char *text, const struct uuid *organization)
{
    cr_assert(reads(text), "%s", text);
    return audit_query_binding(&query, organization, &arena);
}

Test(audit_query, binds_a_cursor_to_organization_filters_and_page_size)
{
    static const char *const others[] = {
        "per_page=49",
        "operation=ping",
        "outcome=error",
        "created_at_after=0",
        "created_at_before=0",
        "api_key_id=01890000-0000-7000-8000-000000000001",
        "conversation_id=01890000-0000-7000-8000-000000000001",
    };
    struct uuid here = {.b = {1}}, there = {.b = {2}};
    char plain[512];
    struct str binding = binding_of("", &here);

    cr_assert_lt(binding.n, sizeof(plain));
    memcpy(plain, binding.p, binding.n);
    binding.p = plain;
    cr_assert(str_equal(binding, binding_of("per_page=50&starting_after=x", &here)));
    cr_assert_not(str_equal(binding, binding_of("", &there)));
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        cr_assert_not(str_equal(binding, binding_of(others[i], &here)), "%s", others[i]);
}

/* -- from a body ------------------------------------------------------------------------------- */

static bool reads_body(const char *text)
{
    arena_clear(&arena);
    errors_init(&errors, &arena);
    return audit_query_read_body(str_of(text), &arena, &query, &errors);
}

static void expect_refused(const char *body, const char *code, const char *field)
{
    cr_assert_not(reads_body(body), "%s", body);
    cr_expect_eq(errors.n, 1, "%s", body);
    cr_expect_str_eq(errors.at[0].code, code, "%s", body);
    if (field == NULL)
        cr_expect_null(errors.at[0].field, "%s", body);
    else
        cr_expect_str_eq(errors.at[0].field, field, "%s", body);
}

Test(audit_query, reads_the_same_from_a_body)
{
    cr_assert(reads_body("{\"per_page\":7,\"starting_after\":\"abc_-9\","
                         "\"operation\":\"ping\",\"outcome\":\"denied\","
                         "\"api_key_id\":\"01890000-0000-7000-8000-000000000001\","
                         "\"created_at_after\":\"12\",\"created_at_before\":253402300799}"));
    cr_expect_eq(query.per_page, 7);
    cr_expect(str_equal(query.starting_after, STR("abc_-9")));
    cr_expect(str_equal(query.operation, STR("ping")));
    cr_expect(str_equal(query.outcome, STR("denied")));
    cr_expect(str_equal(query.api_key_id, STR("01890000-0000-7000-8000-000000000001")));
    cr_expect_eq(query.after_s, 12);
    cr_expect_eq(query.before_s, 253402300799);
}

Test(audit_query, an_empty_body_means_the_defaults)
{
    cr_assert(reads_body(""));
    cr_expect_eq(query.per_page, 50);
    cr_assert(reads_body("{}"));
    cr_expect_eq(query.after_s, -1);
}

Test(audit_query, refuses_an_invalid_query_in_a_body)
{
    expect_refused("{", "invalid_json", NULL);
    expect_refused("[]", "parameter_invalid", NULL);
    expect_refused("{\"order\":\"asc\"}", "parameter_invalid", "order");
    expect_refused("{\"per_page\":0}", "parameter_invalid", "per_page");
    expect_refused("{\"per_page\":101}", "parameter_invalid", "per_page");
    expect_refused("{\"per_page\":-1}", "parameter_invalid", "per_page");
    expect_refused("{\"per_page\":1.5}", "parameter_invalid", "per_page");
    expect_refused("{\"per_page\":null}", "parameter_invalid", "per_page");
    expect_refused("{\"operation\":\"pi\\u0000ng\"}", "parameter_invalid", "operation");
    expect_refused("{\"outcome\":[\"denied\"]}", "parameter_invalid", "outcome");
    expect_refused("{\"api_key_id\":\"01890000-0000-7000-8000-00000000000A\"}", "parameter_invalid",
                   "api_key_id");
}

Test(audit_query, lists_every_operation_if_another_is_given)
{
    cr_assert_not(reads("operation=x"));
    for (enum operation operation = OP_NONE + 1; operation < OPERATION_COUNT; operation++)
        cr_expect_not_null(strstr(errors.at[0].message, operation_name(operation)), "%s",
                           operation_name(operation));
}
