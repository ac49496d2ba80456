/* Large organizations move to another cell and back under load: every row is still there afterwards, and each
 * organization is closed only briefly. TEST_LONG=1: 20 moves, of up to a million rows. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/str.h"
#include "tests/support/api_client.h"
#include "tests/support/load.h"
#include "tests/support/measure.h"
#include "tests/support/never_free.h"
#include "tests/support/own_stack.h"
#include "tests/support/postgres_server.h"
#include "tests/support/sql.h"

TestSuite(large_move, .init = stack_have_alone);

enum { PER_SECOND = 200, BESIDE_PER_SECOND = 50, CLOSED_MAX_MS = 2000, SEALED_WITHIN_S = 900 };

/* An organization with `rows` conversations, entries and events each moves there and back `times` times. */
enum { TIMES_MAX = 4 };
struct size {
    int rows, times;
};

static const struct size usual[] = {{1000, 1}, {10000, 1}},
                         whole[] = {{1000, 4}, {10000, 3}, {100000, 2}, {1000000, 1}};

static const char *database_of(const char *cell)
{
    return strcmp(cell, "main") == 0 ? stack_setting("DATABASE_URL") : own_stack_database_url(cell);
}

/* Conversations of 90 days with their contacts; one entry and one event for each conversation. */
static void fill(const struct org *org, int rows)
{
    static const char *const psql = "psql -qX -v ON_ERROR_STOP=1 %s '%s'";
    const char *const conversations =
                          format("-v part=conversations -v rows=%d -v organizations='{%s}'"
                                 " -f tools/bench.d/growth.sql",
                                 rows, org->id),
                      *const entries =
                          format("-v organization=%s -f tests/long/large_move.sql", org->id);

    cr_assert_eq(system(format(psql, conversations, database_of("main"))), 0);
    cr_assert_eq(system(format(psql, entries, database_of("main"))), 0);
    postgres_do(database_of("main"), "ANALYZE");
}

/* The rows that fill() has made and nothing has changed since: for each table their count and the sum of their
   hashes. Leaves out xid: it comes from the server, so a move changes it. */
static const char *filled_rows(const struct org *org, const char *cell)
{
    static const char *const sums =
        "SELECT string_agg(n || ' ' || hashes, ', ' ORDER BY what) FROM ("
        " SELECT 1 AS what, count(*) AS n, sum(hashtextextended(c::text, 0)) AS hashes"
        "   FROM conversation.conversations AS c"
        "  WHERE organization_id = '%1$s' AND external_id LIKE 'order-%%'"
        " UNION ALL"
        " SELECT 2, count(*), sum(hashtextextended(c::text, 0)) FROM conversation.contacts AS c"
        "  WHERE organization_id = '%1$s' AND email LIKE '%%@bench.example'"
        " UNION ALL"
        " SELECT 3, count(*), sum(hashtextextended((to_jsonb(e) - 'xid')::text, 0))"
        "   FROM audit.entries AS e WHERE organization_id = '%1$s' AND api_key_id = '%1$s'"
        " UNION ALL"
        " SELECT 4, count(*), sum(hashtextextended(e::text, 0))"
        "   FROM conversation.conversations JOIN webhook.events AS e USING (organization_id, id)"
        "  WHERE organization_id = '%1$s' AND external_id LIKE 'order-%%') AS each";

    return never_free(postgres_text(database_of(cell), format(sums, org->id)));
}

struct chain_head {
    const char *number, *hash;
};

/* Waits until all entries are sealed; the newest block of the log. */
static struct chain_head await_head(const struct org *org)
{
    const int64_t end_us = clock_mono_us() + SEALED_WITHIN_S * INT64_C(1000000);

    for (;;) {
        const json_t *const verified =
                                never_free(convctl("audit", "verify", "--org", org->id, NULL)),
                            *head = json_object_get(verified, "head");

        cr_assert(json_is_true(json_object_get(verified, "ok")), "%s", json_dumps(verified, 0));
        /* The head dates from the start of the verification: equal counts mean all is sealed. */
        if (head != NULL && json_integer_value(json_object_get(head, "entries")) ==
                                json_integer_value(json_object_get(verified, "entries")))
            return (struct chain_head){
                format("%lld", (long long)json_integer_value(json_object_get(head, "number"))),
                json_string_value(json_object_get(head, "block_hash")),
            };
        cr_assert_lt(clock_mono_us(), end_us, "not sealed in %d s", SEALED_WITHIN_S);
    }
}

static void expect_head_kept(const struct org *org, struct chain_head head)
{
    json_t *verified = convctl("audit", "verify", "--org", org->id, "--head-number", head.number,
                               "--head-hash", head.hash, NULL);

    cr_expect(json_is_true(json_object_get(verified, "ok")), "%s", json_dumps(verified, 0));
    json_decref(verified);
}

static void move_to(const struct org *org, const char *cell)
{
    const int64_t from_us = clock_mono_us();
    json_t *moved = convctl("cell", "move", org->id, "--to", cell, "--grace", "0", NULL);
    const int64_t closed_ms = json_integer_value(json_object_get(moved, "closed_ms"));

    cr_assert_str_eq(json_string_value(json_object_get(moved, "step")), "done");
    fprintf(stderr, "to %s: %lld rows, %lld ms, closed for %lld ms\n", cell,
            (long long)json_integer_value(json_object_get(moved, "rows")),
            (long long)(clock_mono_us() - from_us) / 1000, (long long)closed_ms);
    cr_expect_leq(closed_ms, CLOSED_MAX_MS);
    json_decref(moved);
}

static void move_there_and_back(const struct org *org, int times)
{
    static const char *const cells[] = {"cell2", "main"};
    struct load *load = load_start(org, PER_SECOND);
    int64_t begun_us[2 * TIMES_MAX];

    cr_assert(load_await_served(load, PER_SECOND, 20000));
    for (int i = 0; i < 2 * times; i++) {
        begun_us[i] = clock_mono_us();
        move_to(org, cells[i % 2]);
        cr_assert(load_await_served(load, PER_SECOND, 20000));
    }
    load_stop(load);
    cr_expect_leq(load_longest_refusal_us(load, begun_us, 2 * times), CLOSED_MAX_MS * 1000);
    postgres_do(database_of("main"), "ANALYZE"); /* for the large joins of the checks below */
    fprintf(stderr, "%d requests, %d answered 503\n", load_count(load),
            load_expect_refusals_only(load));
    load_check_consistency(load);
}

static void move_one(struct size size)
{
    const char *before;
    struct chain_head head;
    struct org org;

    org_new_in(&org, "main");
    json_decref(convctl("org", "set", org.id, "--rate-limit", "100000", NULL));
    fill(&org, size.rows);
    head = await_head(&org);
    before = filled_rows(&org, "main");
    fprintf(stderr, "%d conversations, entries and events: %s\n", size.rows, before);
    cr_assert_eq(strncmp(before, format("%d ", size.rows), strlen(format("%d ", size.rows))), 0);
    move_there_and_back(&org, size.times);
    cr_expect_str_eq(filled_rows(&org, "main"), before);
    (void)await_head(&org);
    expect_head_kept(&org, head);
}

Test(large_move, loses_no_row)
{
    const bool is_whole = long_form_or(1, 0) == 1;
    const size_t n = is_whole ? ARRAY_SIZE(whole) : ARRAY_SIZE(usual);
    struct load *beside;
    struct org neighbour;

    own_stack_start("large-moves", (const char *const[]){"CELLS=2", NULL});
    org_new_in(&neighbour, "main");
    json_decref(convctl("org", "set", neighbour.id, "--rate-limit", "100000", NULL));
    beside = load_start(&neighbour, BESIDE_PER_SECOND);
    cr_assert(load_await_served(beside, BESIDE_PER_SECOND, 20000));
    for (size_t i = 0; i < n; i++)
        move_one(is_whole ? whole[i] : usual[i]);
    load_stop(beside);
    load_tell_failures(beside, 0);
    cr_expect_eq(load_last_failure_us(beside), 0, "a request of another organization failed");
    load_check_consistency(beside);
    own_stack_stop();
}
