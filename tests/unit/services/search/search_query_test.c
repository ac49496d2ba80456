/* The body of a search: what is accepted, and which errors are reported. */
#include "tests/unit/services/search/query_fixture.h"

TestSuite(search_query, .init = open_arena, .fini = close_arena);

/* -- every field by every operator ----------------------------------------------------------- */

static const char *const operators[] = {"=", "!=", "IN", "NIN", ">", "<"};
enum { OPERATORS = ARRAY_SIZE(operators) };

static const struct {
    const char *name;
    enum filter_field field;
    const char *accepts; /* operators */
    const char *value;
} fields[] = {
    {"custom_attributes.plan", FILTER_ATTRIBUTE, " = != ", "\"pro\""},
    {"external_id", FILTER_EXTERNAL_ID, " = != IN NIN ", "\"e\""},
    {"channel", FILTER_CHANNEL, " = != IN NIN ", "\"api\""},
    {"source.type", FILTER_CHANNEL, " = != IN NIN ", "\"api\""},
    {"state", FILTER_STATE, " = != ", "\"open\""},
    {"status", FILTER_STATUS, " = != IN NIN ", "\"active\""},
    {"created_at", FILTER_CREATED_AT, " = != > < ", "1700000000"},
    {"updated_at", FILTER_UPDATED_AT, " = != > < ", "1700000000"},
};

static const char *filter_text(const char *name, const char *op, const char *value)
{
    const bool is_list = strcmp(op, "IN") == 0 || strcmp(op, "NIN") == 0;

    return arena_printf(&arena, is_list ? FILTER("%s", "%s", "[%s]") : FILTER("%s", "%s", "%s"),
                        name, op, value);
}

static bool accepts(const char *list, const char *op)
{
    return strstr(list, arena_printf(&arena, " %s ", op)) != NULL;
}

Test(search_query, knows_which_operators_a_field_has)
{
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        for (int op = 0; op < OPERATORS; op++) {
            const char *body = arena_printf(
                &arena, SEARCH(",%s"), filter_text(fields[i].name, operators[op], fields[i].value));

            if (!accepts(fields[i].accepts, operators[op])) {
                assert_refuses(body, "invalid_operator", "query.value[1].operator");
                continue;
            }
            assert_reads(body);
            cr_assert_eq(query.n_filters, 1);
            cr_assert_eq(query.filters[0].field, fields[i].field, "%s", body);
            cr_assert_eq(query.filters[0].op, (enum filter_operator)op, "%s", body);
        }
    }
}

Test(search_query, knows_only_equality_on_a_contact)
{
    static const char *const names[] = {"contact.external_id", "contact.id", "contact_ids"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        for (int op = 0; op < OPERATORS; op++) {
            const char *body =
                arena_printf(&arena, ONLY("%s"), filter_text(names[i], operators[op], "\"u\""));

            if (op != OPERATOR_EQUAL) {
                assert_refuses(body, "invalid_operator", "query.operator");
                continue;
            }
            assert_reads(body);
            cr_assert_eq(query.n_filters, 0);
            cr_assert_eq(query.contact.field,
                         i == 0 ? FILTER_CONTACT_EXTERNAL_ID : FILTER_CONTACT_ID);
            cr_assert(str_equal(query.contact.values[0], STR("u")));
        }
    }
}

Test(search_query, rejects_by_name_the_operators_that_it_leaves_out)
{
    static const char *const left_out[] = {"~", "!~", "^", "$", "OR", "AND"};
    static const char *const unheard_of[] = {"in", "==", "", " =", "<=", "=\\u003b"};

    for (size_t i = 0; i < ARRAY_SIZE(left_out); i++) {
        assert_refuses(arena_printf(&arena, WITH("status", "%s", "\"active\""), left_out[i]),
                       "invalid_operator", "query.value[1].operator");
        cr_assert_str_eq(errors.at[0].message,
                         arena_printf(&arena,
                                      "%s is not supported here; use one of: =, !=, IN, NIN",
                                      left_out[i]));
    }
    for (size_t i = 0; i < ARRAY_SIZE(unheard_of); i++) {
        assert_refuses(arena_printf(&arena, WITH("created_at", "%s", "1"), unheard_of[i]),
                       "invalid_operator", "query.value[1].operator");
        cr_assert_str_eq(errors.at[0].message,
                         "this operator is not supported here; use one of: =, !=, >, <");
    }
}

Test(search_query, lists_the_fields_that_can_be_searched)
{
    assert_refuses(WITH("message", "=", "\"x\""), "invalid_field", "query.value[1].field");
    cr_assert_str_eq(errors.at[0].message,
                     "cannot be searched; use one of: contact.external_id, contact.id, "
                     "contact_ids, custom_attributes.{key}, external_id, channel, source.type, "
                     "state, status, created_at, updated_at");
}

/* -- errors ---------------------------------------------------------------------------------- */

#define INVALID "parameter_invalid"
#define MISSING "parameter_not_found"
#define TEN     "0123456789"
#define FIFTY   TEN TEN TEN TEN TEN
#define LONG    FIFTY FIFTY FIFTY FIFTY FIFTY /* 250 */

static const struct {
    const char *body, *code, *field;
} wrongs[] = {
    {"", "invalid_json", NULL},
    {"{\"query\":", "invalid_json", NULL},
    {"{\"query\":1,\"query\":1}", "invalid_json", NULL},
    {"[]", INVALID, NULL},
    {"{}", MISSING, "query"},
    {"{\"query\":null}", INVALID, "query"},
    {"{\"query\":\"x\"}", INVALID, "query"},
    {"{\"query\":" CONTACT ",\"organization_id\":\"x\"}", INVALID, "organization_id"},
    {"{\"query\":" CONTACT ",\"workspace_id\":\"x\"}", INVALID, "workspace_id"},
    {"{\"query\":" CONTACT ",\"sort\":{}}", INVALID, "sort"},
    /* the contact */
    {ONLY(FILTER("status", "=", "\"active\"")), MISSING, "query"},
    {ONLY("{\"operator\":\"AND\",\"value\":[]}"), MISSING, "query"},
    {ONLY("{\"operator\":\"AND\",\"value\":[" FILTER("state", "=", "\"open\"") "]}"), MISSING,
     "query"},
    {SEARCH("," CONTACT), INVALID, "query.value[1].field"},
    {WITH("contact.id", "=", "\"u\""), INVALID, "query.value[1].field"},
    {ONLY(FILTER("contact.external_id", "=", "7")), INVALID, "query.value"},
    {ONLY(FILTER("contact.external_id", "=", "null")), INVALID, "query.value"},
    {ONLY(FILTER("contact.external_id", "=", "[\"u\"]")), INVALID, "query.value"},
    {ONLY(FILTER("contact.external_id", "=", "\"\"")), INVALID, "query.value"},
    {ONLY(FILTER("contact.external_id", "=", "\" u\"")), INVALID, "query.value"},
    {ONLY(FILTER("contact.external_id", "=", "\"u\\u00a0\"")), INVALID, "query.value"},
    {ONLY(FILTER("contact.external_id", "=", "\"u\\u0000\"")), INVALID, "query.value"},
    {ONLY(FILTER("contact.external_id", "=", "\"" LONG "012345\"")), INVALID, "query.value"},
    {ONLY(FILTER("contact.id", "=", "7")), INVALID, "query.value"},
    {ONLY(FILTER("contact_ids", "=", "[\"u\"]")), INVALID, "query.value"},
    {ONLY(FILTER("contact_ids", "=", "\"\\u0000\"")), INVALID, "query.value"},
    /* groups */
    {ONLY("{\"operator\":\"OR\",\"value\":[" CONTACT "]}"), "invalid_operator", "query.operator"},
    {ONLY("{\"operator\":\"and\",\"value\":[" CONTACT "]}"), "invalid_operator", "query.operator"},
    {ONLY("{\"operator\":1,\"value\":[" CONTACT "]}"), INVALID, "query.operator"},
    {ONLY("{\"operator\":\"AND\\u0000\",\"value\":[" CONTACT "]}"), INVALID, "query.operator"},
    {ONLY("{\"value\":[" CONTACT "]}"), MISSING, "query.operator"},
    {ONLY("{\"operator\":\"AND\",\"value\":" CONTACT "}"), INVALID, "query.value"},
    {ONLY("{\"operator\":\"AND\",\"value\":[" CONTACT "],\"x\":1}"), INVALID, "query.x"},
    {SEARCH(",{\"operator\":\"AND\",\"value\":[]}"), INVALID, "query.value[1]"},
    {SEARCH(",{\"operator\":\"OR\",\"value\":[" FILTER("state", "=", "\"open\"") "]}"), INVALID,
     "query.value[1]"},
    {SEARCH(",{\"value\":[]}"), INVALID, "query.value[1]"},
    {SEARCH(",{\"operator\":\"OR\"}"), INVALID, "query.value[1]"},
    {SEARCH(",[]"), INVALID, "query.value[1]"},
    {SEARCH(",null"), INVALID, "query.value[1]"},
    {SEARCH(",7"), INVALID, "query.value[1]"},
    /* members of a filter */
    {SEARCH(",{\"operator\":\"=\",\"value\":\"open\"}"), MISSING, "query.value[1].field"},
    {SEARCH(",{\"field\":\"state\",\"value\":\"open\"}"), MISSING, "query.value[1].operator"},
    {SEARCH(",{\"field\":\"state\",\"operator\":\"=\"}"), MISSING, "query.value[1].value"},
    {SEARCH(",{\"field\":1,\"operator\":\"=\",\"value\":1}"), INVALID, "query.value[1].field"},
    {SEARCH(",{\"field\":null,\"operator\":\"=\",\"value\":1}"), INVALID, "query.value[1].field"},
    {SEARCH(",{\"field\":\"state\\u0000\",\"operator\":\"=\",\"value\":1}"), INVALID,
     "query.value[1].field"},
    {SEARCH(",{\"field\":\"state\",\"operator\":7,\"value\":\"open\"}"), INVALID,
     "query.value[1].operator"},
    {SEARCH(",{\"field\":\"state\",\"operator\":\"=\\u0000\",\"value\":\"open\"}"), INVALID,
     "query.value[1].operator"},
    {SEARCH(",{\"field\":\"state\",\"operator\":\"=\",\"value\":\"open\",\"x\":1}"), INVALID,
     "query.value[1].x"},
    /* fields */
    {WITH("", "=", "\"x\""), "invalid_field", "query.value[1].field"},
    {WITH("Status", "=", "\"active\""), "invalid_field", "query.value[1].field"},
    {WITH("id", "=", "\"x\""), "invalid_field", "query.value[1].field"},
    {WITH("contact.email", "=", "\"x\""), "invalid_field", "query.value[1].field"},
    {WITH("custom_attributes", "=", "\"x\""), "invalid_field", "query.value[1].field"},
    {WITH("custom_attributes.", "=", "\"x\""), "invalid_field", "query.value[1].field"},
    {WITH("custom_attributes.{key}", "=", "\"x\""), "invalid_field", "query.value[1].field"},
    {WITH("custom_attributes.1a", "=", "\"x\""), "invalid_field", "query.value[1].field"},
    {WITH("custom_attributes.a b", "=", "\"x\""), "invalid_field", "query.value[1].field"},
    {WITH("custom_attributes.\xc3\xa4", "=", "\"x\""), "invalid_field", "query.value[1].field"},
    {WITH("custom_attributes.service_x", "=", "\"x\""), "invalid_field", "query.value[1].field"},
    {WITH("custom_attributes.SERVICE_", "=", "\"x\""), "invalid_field", "query.value[1].field"},
    {WITH("custom_attributes.a" FIFTY TEN "0123", "=", "1"), "invalid_field",
     "query.value[1].field"},
    /* values */
    {WITH("state", "=", "\"resolved\""), INVALID, "query.value[1].value"},
    {WITH("state", "=", "true"), INVALID, "query.value[1].value"},
    {WITH("state", "!=", "\"Open\""), INVALID, "query.value[1].value"},
    {WITH("status", "=", "\"closed\""), INVALID, "query.value[1].value"},
    {WITH("status", "=", "\"\""), INVALID, "query.value[1].value"},
    {WITH("status", "=", "[\"active\"]"), INVALID, "query.value[1].value"},
    {WITH("status", "=", "null"), INVALID, "query.value[1].value"},
    {WITH("status", "IN", "\"active\""), INVALID, "query.value[1].value"},
    {WITH("status", "IN", "[]"), INVALID, "query.value[1].value"},
    {WITH("status", "IN", "{}"), INVALID, "query.value[1].value"},
    {WITH("status", "NIN", "[\"active\",\"open\"]"), INVALID, "query.value[1].value[1]"},
    {WITH("status", "IN", "[[\"active\"]]"), INVALID, "query.value[1].value[0]"},
    {WITH("channel", "=", "1"), INVALID, "query.value[1].value"},
    {WITH("channel", "=", "\"a\\u0000\""), INVALID, "query.value[1].value"},
    {WITH("channel", "IN", "[\"api\",null]"), INVALID, "query.value[1].value[1]"},
    {WITH("source.type", "!=", "{}"), INVALID, "query.value[1].value"},
    {WITH("external_id", "=", "5"), INVALID, "query.value[1].value"},
    {WITH("external_id", "=", "\"\""), INVALID, "query.value[1].value"},
    {WITH("external_id", "NIN", "[\"e\",\"e \"]"), INVALID, "query.value[1].value[1]"},
    {WITH("created_at", "=", "\"1700000000\""), INVALID, "query.value[1].value"},
    {WITH("created_at", ">", "1.0"), INVALID, "query.value[1].value"},
    {WITH("created_at", "<", "1e9"), INVALID, "query.value[1].value"},
    {WITH("updated_at", "!=", "true"), INVALID, "query.value[1].value"},
    {WITH("updated_at", "=", "null"), INVALID, "query.value[1].value"},
    {WITH("updated_at", "=", "[1]"), INVALID, "query.value[1].value"},
    {WITH("updated_at", "=", "9223372036854775808"), INVALID, "query.value[1].value"},
    {WITH("custom_attributes.a", "=", "null"), INVALID, "query.value[1].value"},
    {WITH("custom_attributes.a", "=", "{}"), INVALID, "query.value[1].value"},
    {WITH("custom_attributes.a", "!=", "[1]"), INVALID, "query.value[1].value"},
    {WITH("custom_attributes.a", "=", "\"\\u0000\""), INVALID, "query.value[1].value"},
    {WITH("custom_attributes.a", "=", "\"" LONG LONG "x\""), INVALID, "query.value[1].value"},
    {WITH("custom_attributes.a", "=", "1e999"), "invalid_json", NULL},
    /* pagination */
    {"{\"query\":" CONTACT ",\"pagination\":null}", INVALID, "pagination"},
    {"{\"query\":" CONTACT ",\"pagination\":[]}", INVALID, "pagination"},
    {"{\"query\":" CONTACT ",\"pagination\":{\"page\":1}}", INVALID, "pagination.page"},
    {"{\"query\":" CONTACT ",\"pagination\":{\"per_page\":0}}", INVALID, "pagination.per_page"},
    {"{\"query\":" CONTACT ",\"pagination\":{\"per_page\":101}}", INVALID, "pagination.per_page"},
    {"{\"query\":" CONTACT ",\"pagination\":{\"per_page\":50.0}}", INVALID, "pagination.per_page"},
    {"{\"query\":" CONTACT ",\"pagination\":{\"per_page\":\"5\"}}", INVALID, "pagination.per_page"},
    {"{\"query\":" CONTACT ",\"pagination\":{\"per_page\":null}}", INVALID, "pagination.per_page"},
    {"{\"query\":" CONTACT ",\"pagination\":{\"starting_after\":1}}", INVALID,
     "pagination.starting_after"},
    {"{\"query\":" CONTACT ",\"pagination\":{\"starting_after\":\"\\u0000\"}}", INVALID,
     "pagination.starting_after"},
};

Test(search_query, names_the_error)
{
    for (size_t i = 0; i < ARRAY_SIZE(wrongs); i++)
        assert_refuses(wrongs[i].body, wrongs[i].code, wrongs[i].field);
}

Test(search_query, lists_up_to_ten_errors_in_the_order_of_the_document)
{
    struct buf many;

    cr_assert_not(reads("{\"x\":1,\"pagination\":{\"per_page\":0},\"query\":{\"value\":["
                        "{\"value\":1,\"field\":\"state\",\"operator\":\"~\"},"
                        "{\"value\":\"x\",\"y\":1,\"operator\":\"=\",\"field\":\"status\"},"
                        "{\"operator\":\"!\",\"value\":0,\"field\":\"nobody\"}"
                        "],\"operator\":\"OR\"}}"));
    assert_error(0, INVALID, "x", "");
    assert_error(1, INVALID, "pagination.per_page", "");
    assert_error(2, "invalid_operator", "query.value[0].operator", "");
    assert_error(3, INVALID, "query.value[1].value", "");
    assert_error(4, INVALID, "query.value[1].y", "");
    assert_error(5, "invalid_operator", "query.value[2].operator", "");
    assert_error(6, "invalid_field", "query.value[2].field", "");
    assert_error(7, "invalid_operator", "query.operator", "");
    assert_error(8, MISSING, "query", "");
    cr_assert_eq(errors.n, 9);

    buf_init(&many, &arena, 4096);
    for (int i = 0; i < 20; i++)
        buf_printf(&many, ",{\"field\":%d,\"operator\":\"=\",\"value\":1}", i);
    cr_assert_not(reads(arena_printf(&arena, SEARCH("%s"), arena_cstr(&arena, buf_str(&many)))));
    cr_assert_eq(errors.n, ERRORS_MAX);
    assert_error(9, INVALID, "query.value[10].field", "");
}

/* -- limits ---------------------------------------------------------------------------------- */

static const char *filters(int n)
{
    struct buf list;

    buf_init(&list, &arena, 4096);
    buf_add(&list, STR(CONTACT));
    for (int i = 1; i < n; i++)
        buf_add(&list, STR("," FILTER("state", "=", "\"open\"")));
    return arena_printf(&arena, ONLY("{\"operator\":\"AND\",\"value\":[%s]}"),
                        arena_cstr(&arena, buf_str(&list)));
}

static const char *values(int n)
{
    struct buf list;

    buf_init(&list, &arena, 4096);
    for (int i = 0; i < n; i++)
        buf_printf(&list, "%s\"e%d\"", i > 0 ? "," : "", i);
    return arena_printf(&arena, WITH("external_id", "NIN", "[%s]"),
                        arena_cstr(&arena, buf_str(&list)));
}

Test(search_query, takes_50_filters_and_100_values_and_no_more)
{
    assert_reads(filters(50));
    cr_assert_eq(query.n_filters, 49);
    assert_refuses(filters(51), INVALID, "query.value");
    assert_reads(values(100));
    cr_assert_eq(query.filters[0].n_values, 100);
    cr_assert(str_equal(query.filters[0].values[99], STR("e99")));
    assert_refuses(values(101), INVALID, "query.value[1].value");
}

Test(search_query, counts_lengths_in_code_points)
{
    assert_reads(WITH("custom_attributes.a", "=", "\"" LONG LONG "\""));
    assert_reads(WITH("custom_attributes.a" FIFTY TEN "012", "=", "1"));
    assert_reads(ONLY(FILTER("contact.external_id", "=", "\"" LONG "0123\\ud83d\\ude00\"")));
}

Test(search_query, takes_seconds_for_a_time)
{
    static const char *const seconds[] = {"0", "1795914820", "253402300799"};
    static const char *const others[] = {"-1", "253402300800", "1795914820000",
                                         "9223372036854775807"};

    for (size_t i = 0; i < ARRAY_SIZE(seconds); i++) {
        assert_reads(arena_printf(&arena, WITH("created_at", ">", "%s"), seconds[i]));
        cr_assert_str_eq(arena_printf(&arena, "%lld", (long long)query.filters[0].seconds),
                         seconds[i]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        assert_refuses(arena_printf(&arena, WITH("updated_at", "<", "%s"), others[i]), INVALID,
                       "query.value[1].value");
}

/* -- parsed queries -------------------------------------------------------------------------- */

Test(search_query, means_the_first_page_of_50_by_default)
{
    assert_reads(ONLY(CONTACT));
    cr_assert_eq(query.per_page, 50);
    cr_assert_null(query.starting_after.p);
    assert_reads("{\"pagination\":{},\"query\":" CONTACT "}");
    assert_reads("{\"pagination\":{\"starting_after\":null},\"query\":" CONTACT "}");
    cr_assert_null(query.starting_after.p);
    assert_reads("{\"pagination\":{\"starting_after\":\"abc\",\"per_page\":7},\"query\":" CONTACT
                 "}");
    cr_assert_eq(query.per_page, 7);
    cr_assert(str_equal(query.starting_after, STR("abc")));
}

Test(search_query, accepts_a_group_with_only_the_contact)
{
    assert_reads(SEARCH(""));
    cr_assert_eq(query.n_filters, 0);
}

Test(search_query, finds_the_contact_wherever_it_stands)
{
    assert_reads(ONLY("{\"operator\":\"AND\",\"value\":[" FILTER(
        "state", "=", "\"open\"") "," CONTACT "," FILTER("status", "!=", "\"active\"") "]}"));
    cr_assert(str_equal(query.contact.values[0], STR("u")));
    cr_assert_eq(query.n_filters, 2);
    cr_assert_eq(query.filters[0].field, FILTER_STATE);
    cr_assert_eq(query.filters[1].field, FILTER_STATUS);
}

Test(search_query, keeps_the_value_of_an_attribute_as_it_was_spelled)
{
    static const char *const same[] = {
        "1",    "1.0",   "0.1",   "-0",           "1E+2",
        "true", "false", "\"x\"", "\"\\\"\\\\\"", "123456789.123456789123"};

    for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
        assert_reads(arena_printf(&arena, WITH("custom_attributes.a.B-c_1", "=", "%s"), same[i]));
        cr_assert(str_equal(query.filters[0].key, STR("a.B-c_1")));
        cr_assert(str_equal(query.filters[0].values[0], str_of(same[i])), "%s became %.*s", same[i],
                  STR_ARG(query.filters[0].values[0]));
    }
}

/* -- the binding of a cursor ----------------------------------------------------------------- */

static const struct uuid here = {.b = {1}}, there = {.b = {2}};

static struct str binding_of(const char *body)
{
    assert_reads(body);
    return search_query_binding(&query, &here, &arena);
}

/* Cursors are valid for a week, across an upgrade: the signed bytes must not change. */
Test(search_query, is_bound_to_the_same_bytes_in_every_version)
{
    const struct str binding = binding_of(WITH("updated_at", "<", "1700000000"));

    cr_assert(memmem(binding.p, binding.n, "8 5 1700000000 0 0:", 19) != NULL, "%.*s",
              STR_ARG(binding));
}

Test(search_query, binds_a_cursor_to_the_meaning_of_the_query_not_its_text)
{
    const struct str plain = binding_of(WITH("status", "=", "\"active\""));

    cr_assert(str_equal(plain,
                        binding_of(" { \"pagination\" : {\"starting_after\":\"x\",\"per_page\":50},"
                                   "\"query\":{\"value\":[{\"value\":\"u\",\"operator\":\"=\","
                                   "\"field\":\"contact.external_id\"},{\"operator\":\"=\","
                                   "\"field\":\"st\\u0061tus\",\"value\":\"active\"}],"
                                   "\"operator\":\"AND\"}}")));
    cr_assert_not(str_equal(plain, search_query_binding(&query, &there, &arena)));
}

Test(search_query, binds_a_cursor_to_every_part_of_the_query)
{
    static const char *const bodies[] = {
        ONLY(CONTACT),
        "{\"query\":" CONTACT ",\"pagination\":{\"per_page\":49}}",
        ONLY(FILTER("contact.external_id", "=", "\"v\"")),
        ONLY(FILTER("contact.id", "=", "\"u\"")),
        WITH("status", "=", "\"active\""),
        WITH("status", "!=", "\"active\""),
        WITH("status", "IN", "[\"active\"]"),
        WITH("status", "IN", "[\"active\",\"waiting\"]"),
        WITH("state", "=", "\"open\""),
        WITH("channel", "=", "\"active\""),
        WITH("created_at", "=", "1"),
        WITH("created_at", "=", "2"),
        WITH("created_at", ">", "2"),
        WITH("updated_at", ">", "2"),
        WITH("custom_attributes.a", "=", "1"),
        WITH("custom_attributes.a", "=", "\"1\""),
        WITH("custom_attributes.a", "=", "true"),
        WITH("custom_attributes.a", "=", "0.1"),
        WITH("custom_attributes.a", "=", "0.10000000000000000001"),
        WITH("custom_attributes.b", "=", "1"),
        WITH("external_id", "IN", "[\"a\",\"b\"]"),
        WITH("external_id", "IN", "[\"a,b\"]"),
        WITH("external_id", "IN", "[\"a1:b\"]"),
        SEARCH("," FILTER("status", "=", "\"active\"") "," FILTER("state", "=", "\"open\"")),
    };
    enum { N = ARRAY_SIZE(bodies) };
    struct str bindings[N];

    for (int i = 0; i < N; i++) {
        bindings[i] = binding_of(bodies[i]);
        for (int k = 0; k < i; k++)
            cr_assert_not(str_equal(bindings[i], bindings[k]), "%s\n%s", bodies[i], bodies[k]);
    }
}
