/* The bounds on a search's work, whatever it asks for. */
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "services/search/found.h"
#include "tests/unit/services/search/search_fixture.h"

TestSuite(search_work, .init = start, .fini = stop);

#define ORG "01920000-0000-7000-8000-000000000001"

static struct search_statement planned(const char *body)
{
    struct uuid organization;
    struct search_statement statement;

    assert_reads(body);
    cr_assert(uuid_parse(STR(ORG), &organization));
    search_statement_make(&query, &organization, NULL, &arena, &statement);
    return statement;
}

/* -- equivalent filters ---------------------------------------------------------------------- */

static void assert_same_plan(const char *body, const char *shorter)
{
    const struct search_statement a = planned(body), b = planned(shorter);

    cr_assert_eq(a.sql, b.sql);
    for (size_t i = 0; i < STATEMENT_PARAMS; i++)
        cr_expect(str_equal(a.params[i], b.params[i]), "%s: parameter %zu is %.*s, not %.*s", body,
                  i + 1, STR_ARG(a.params[i]), STR_ARG(b.params[i]));
}

#define ATTRIBUTE(key, op, value) FILTER("custom_attributes." key, op, value)

Test(search_work, a_filter_that_is_repeated_counts_once)
{
    static const char *const filters[] = {
        ATTRIBUTE("a", "=", "\"x\""),         ATTRIBUTE("a", "!=", "1.50"),
        FILTER("created_at", "!=", "7"),      FILTER("updated_at", ">", "7"),
        FILTER("status", "=", "\"active\""),  FILTER("channel", "NIN", "[\"a\",\"b\"]"),
        FILTER("external_id", "!=", "\"e\""), FILTER("external_id", "IN", "[\"e\",\"f\"]"),
    };

    for (size_t i = 0; i < ARRAY_SIZE(filters); i++)
        assert_same_plan(
            arena_printf(&arena, SEARCH(",%s,%s,%s"), filters[i], filters[i], filters[i]),
            arena_printf(&arena, SEARCH(",%s"), filters[i]));
}

Test(search_work, filters_on_attributes_are_merged_into_one_object)
{
    const struct search_statement one = planned(SEARCH("," ATTRIBUTE(
        "a", "=", "\"x\"") "," ATTRIBUTE("b", "=", "1.0") "," ATTRIBUTE("a", "=", "\"x\"")));
    const struct search_statement two = planned(SEARCH(
        "," ATTRIBUTE("a", "=", "1") "," ATTRIBUTE("b", "=", "2") "," ATTRIBUTE("a", "=", "1.0")));

    cr_assert(str_equal(one.params[STATEMENT_ATTRIBUTES], STR("{\"a\":\"x\",\"b\":1.0}")));
    cr_assert_null(one.params[STATEMENT_ATTRIBUTES_ALL].p);
    cr_assert_null(two.params[STATEMENT_ATTRIBUTES].p);
    cr_assert(str_equal(two.params[STATEMENT_ATTRIBUTES_ALL],
                        STR("{\"{\\\"a\\\":1,\\\"b\\\":2}\",\"{\\\"a\\\":1.0}\"}")),
              "%.*s", STR_ARG(two.params[STATEMENT_ATTRIBUTES_ALL]));
}

/* -- attributes that are stored out of line --------------------------------------------------- */

enum { ROWS = 400, FILTERS = 48 };

/* A contact whose conversations have 20 attributes of 480 characters that hardly compress. */
static void store_large(void)
{
    postgres_do(
        server.url,
        arena_printf(
            &arena,
            "INSERT INTO conversation.contacts (organization_id, id, external_id, created_at) "
            "VALUES ('" ORG "', '01930000-0000-7000-8000-000000000001', 'u', now());"
            "INSERT INTO conversation.conversations (organization_id, id, external_id, contact_id, "
            "channel, status, custom_attributes, created_at, updated_at) "
            "SELECT '" ORG "', gen_random_uuid(), 'e' || n, "
            "'01930000-0000-7000-8000-000000000001', 'api', 'active', "
            "(SELECT jsonb_object_agg('k' || i, (SELECT string_agg(md5(i || '.' || n || '.' || g), "
            "'') FROM generate_series(1, 15) g)) FROM generate_series(1, 20) i) "
            "|| '{\"k1\": \"x\"}'::jsonb, now() - n * interval '1 s', now() "
            "FROM generate_series(1, %d) n",
            ROWS));
    postgres_do(server.url, "VACUUM (ANALYZE) conversation.conversations");
    cr_assert_gt(postgres_integer(server.url, "SELECT min(pg_column_size(custom_attributes)) "
                                              "FROM conversation.conversations"),
                 5000);
}

/* `n` different filters that all conversations match; `negative`: every other one is negative. */
static const char *with_filters(int n, bool negative)
{
    struct buf body;

    buf_init(&body, &arena, 4096);
    buf_add(&body, STR("{\"query\":{\"operator\":\"AND\",\"value\":[" CONTACT));
    for (int i = 0; i < n; i++) {
        if (negative && i % 2 == 1)
            buf_printf(&body, "," FILTER("custom_attributes.k%d", "!=", "\"%d\""), i % 20 + 1, i);
        else
            buf_add(&body, STR("," ATTRIBUTE("k1", "=", "\"x\"")));
    }
    buf_add(&body, STR("]}}"));
    return arena_cstr(&arena, buf_str(&body));
}

/* The service's statements, and one that counts the blocks that the connection has fetched of
   attributes stored out of line. */
enum { COUNT_FETCHED = SEARCH_SQL_COUNT, STATEMENTS };

static struct db *open_counting(void)
{
    static struct db_statement statements[STATEMENTS];

    memcpy(statements, search_sql, SEARCH_SQL_COUNT * sizeof(search_sql[0]));
    statements[COUNT_FETCHED] = (struct db_statement){
        .name = "count_fetched",
        .text = "SELECT pg_stat_get_xact_blocks_fetched(reltoastrelid) AS n FROM pg_class "
                "WHERE oid = 'conversation.conversations'::regclass",
        .columns = "n"};
    return postgres_connect_as(&server, "conv_search", statements, STATEMENTS);
}

static long long blocks_fetched(struct db *counting, const char *body)
{
    const struct search_statement statement = planned(body);
    size_t before, after;
    struct found found;
    long long n;

    db_open_batch(counting, clock_us() + 30 * INT64_C(1000000));
    before = db_add(counting, COUNT_FETCHED, NULL);
    found_ask(&found, counting, &statement);
    found_ask_totals((struct found *const[]){&found}, 1, counting, &arena);
    cr_assert_eq(db_run(counting), ST_OK, "%s", db_last_sqlstate(counting));
    found_ask_rest(&found, counting, &arena);
    after = db_add(counting, COUNT_FETCHED, NULL);
    cr_assert_eq(db_run(counting), ST_OK, "%s", db_last_sqlstate(counting));
    cr_assert(found_read(&found, counting));
    cr_assert_eq(found.n_total, ROWS, "%s", body);
    n = db_value_int(db_result(counting, after), 0, 0) -
        db_value_int(db_result(counting, before), 0, 0);
    cr_assert_eq(db_commit(counting), ST_OK);
    return n;
}

/* Counts blocks, not time: attributes are fetched and decompressed once for all filters. */
Test(search_work, many_filters_on_large_attributes_fetch_them_as_often_as_one)
{
    struct db *counting;
    long long one, same, mixed;

    store_large();
    counting = open_counting();
    one = blocks_fetched(counting, with_filters(1, false));
    same = blocks_fetched(counting, with_filters(FILTERS, false));
    mixed = blocks_fetched(counting, with_filters(FILTERS, true));
    fprintf(stderr, "1 filter: %lld blocks, %d that are equal: %lld, half of them others: %lld\n",
            one, FILTERS, same, mixed);
    cr_expect_geq(one, ROWS);
    cr_expect_leq(same, one);
    cr_expect_leq(mixed, one);
    db_free(counting);
}

/* -- long lists ------------------------------------------------------------------------------ */

enum { TRIES = 15 };

/* `n` filters with 100 values each, none of which a conversation has. */
static const char *with_lists(int n)
{
    struct buf body;

    buf_init(&body, &arena, 1 << 16);
    buf_add(&body, STR("{\"query\":{\"operator\":\"AND\",\"value\":[" CONTACT));
    for (int i = 0; i < n; i++) {
        buf_printf(&body, ",{\"field\":\"%s\",\"operator\":\"NIN\",\"value\":[",
                   i % 2 == 0 ? "external_id" : "channel");
        for (int k = 0; k < 100; k++)
            buf_printf(&body, "%s\"e%d.%d\"", k > 0 ? "," : "", i, k);
        buf_add(&body, STR("]}"));
    }
    buf_add(&body, STR("]}}"));
    return arena_cstr(&arena, buf_str(&body));
}

/* The CPU time that the backend has used. */
static long long used_ns(pid_t backend)
{
    FILE *const file = fopen(arena_printf(&arena, "/proc/%d/schedstat", (int)backend), "re");
    long long ns = 0;

    cr_assert(file != NULL && fscanf(file, "%lld", &ns) == 1);
    fclose(file);
    return ns;
}

static long long cost_ns(pid_t backend, const struct search_statement *statement)
{
    const long long before = used_ns(backend);
    struct found found;

    db_open_batch(db, clock_us() + 30 * INT64_C(1000000));
    found_ask(&found, db, statement);
    found_ask_totals((struct found *const[]){&found}, 1, db, &arena);
    cr_assert_eq(db_run(db), ST_OK, "%s", db_last_sqlstate(db));
    found_ask_rest(&found, db, &arena);
    cr_assert_eq(db_run(db), ST_OK, "%s", db_last_sqlstate(db));
    cr_assert(found_read(&found, db));
    cr_assert_eq(found.n_total, ROWS);
    cr_assert_eq(db_commit(db), ST_OK);
    return used_ns(backend) - before;
}

/* A list costs the time to read it once, not once for each conversation. Short and long lists run
   in turn, and the fastest run of each counts: other programs disturb the caches of both alike. */
Test(search_work, long_lists_cost_little_a_conversation)
{
    const struct search_statement few = planned(with_lists(2)), many = planned(with_lists(40));
    long long few_ns = INT64_MAX, many_ns = INT64_MAX;
    pid_t backend;

    store_large();
    backend = (pid_t)postgres_integer(server.url,
                                      "SELECT pid FROM pg_stat_activity WHERE "
                                      "application_name = 'test' AND datname = current_database()");
    for (int i = 0; i < TRIES; i++) {
        const long long a = cost_ns(backend, &few), b = cost_ns(backend, &many);

        few_ns = a < few_ns ? a : few_ns;
        many_ns = b < many_ns ? b : many_ns;
    }
    fprintf(stderr, "2 lists: %lld us, 40: %lld us\n", few_ns / 1000, many_ns / 1000);
    cr_expect_leq(many_ns, few_ns * 4);
}
