/* Large organizations move to another cell and back under load: every row is still there afterwards, each organization
 * is closed only briefly whatever its size, and neighbours in both cells notice nothing: no request of theirs fails,
 * their entries are sealed in time, and their logs verify throughout. TEST_LONG=1: moves of up to 20 million rows. */
#include <criterion/criterion.h>
#include <poll.h>
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

enum {
    PER_SECOND = 50,
    CLOSED_MAX_MS = 2000,
    SEALED_WITHIN_S = 900,          /* all that fill() has made */
    NEIGHBOUR_SEALED_WITHIN_S = 10, /* each entry of a neighbour, at any time */
    LOOK_MS = 500,
    VERIFY_EVERY = 10, /* looks */
};

/* An organization with that many conversations, and for each that many entries and events, moves there and back `times`
 * times. */
enum { TIMES_MAX = 4 };
struct size {
    int conversations, entries, events, times;
};

static const struct size usual[] = {{1000, 1, 1, 1}, {10000, 3, 8, 1}};
static const struct size whole[] = {
    {1000, 1, 1, 4}, {334000, 1, 1, 1}, {1667000, 1, 1, 1}, {1667000, 3, 8, 1}};

/* One in each cell; while another organization moves, one of them is where it comes from and one where it goes. */
struct neighbour {
    const char *cell;
    struct org org;
    struct load *load;
};
static struct neighbour neighbours[] = {{.cell = "main"}, {.cell = "cell2"}};

static const char *database_of(const char *cell)
{
    return strcmp(cell, "main") == 0 ? stack_setting("DATABASE_URL") : own_stack_database_url(cell);
}

/* Conversations of 90 days with their contacts, and their entries and events. */
static void fill(const struct org *org, struct size size)
{
    static const char *const psql = "psql -qX -v ON_ERROR_STOP=1 %s '%s'";
    const char *const conversations =
                          format("-v part=conversations -v rows=%d -v organizations='{%s}'"
                                 " -f tools/bench.d/growth.sql",
                                 size.conversations, org->id),
                      *const beside = format("-v organization=%s -v entries=%d -v events=%d"
                                             " -f tests/long/large_move.sql",
                                             org->id, size.entries, size.events);

    cr_assert_eq(system(format(psql, conversations, database_of("main"))), 0);
    cr_assert_eq(system(format(psql, beside, database_of("main"))), 0);
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
        " SELECT 4, count(*), sum(hashtextextended(e::text, 0)) FROM webhook.events AS e"
        "  WHERE organization_id = '%1$s' AND data ? 'filled') AS each";

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

/* -- neighbours ------------------------------------------------------------------------------- */

static void begin_beside(struct neighbour *neighbour)
{
    org_new_in(&neighbour->org, neighbour->cell);
    json_decref(convctl("org", "set", neighbour->org.id, "--rate-limit", "100000", NULL));
    neighbour->load = load_start(&neighbour->org, PER_SECOND);
    cr_assert(load_await_served(neighbour->load, PER_SECOND, 20000));
}

/* Seconds since the oldest entry was made that is not sealed. */
static int64_t oldest_unsealed_s(const struct neighbour *neighbour)
{
    return postgres_integer(
        database_of(neighbour->cell),
        format("SELECT coalesce(max(extract(epoch FROM clock_timestamp() - created_at)), 0)::bigint"
               "  FROM audit.entries,"
               "       (SELECT last_xid, last_request_id FROM audit.blocks"
               "         WHERE organization_id = '%1$s' ORDER BY number DESC LIMIT 1) AS newest"
               " WHERE organization_id = '%1$s' AND created_at > now() - interval '10 minutes'"
               "   AND (xid, request_id) > (last_xid, last_request_id)",
               neighbour->org.id));
}

static void expect_verified(const struct neighbour *neighbour)
{
    json_t *verified = convctl("audit", "verify", "--org", neighbour->org.id, NULL);

    cr_expect(json_is_true(json_object_get(verified, "ok")), "in %s: %s", neighbour->cell,
              json_dumps(verified, 0));
    json_decref(verified);
}

/* Watches the neighbours until the process ends. */
static void watch_until_ended(FILE *process)
{
    struct pollfd output = {.fd = fileno(process), .events = POLLIN};
    int64_t oldest_s = 0;

    for (int look = 0; poll(&output, 1, LOOK_MS) == 0; look++)
        for (size_t i = 0; i < ARRAY_SIZE(neighbours); i++) {
            const int64_t s = oldest_unsealed_s(&neighbours[i]);

            oldest_s = s > oldest_s ? s : oldest_s;
            if (look % VERIFY_EVERY == 0)
                expect_verified(&neighbours[i]);
        }
    fprintf(stderr, "neighbours' entries were sealed within %lld s\n", (long long)oldest_s);
    cr_expect_leq(oldest_s, limit_scaled(NEIGHBOUR_SEALED_WITHIN_S));
}

static void end_beside(struct neighbour *neighbour)
{
    load_stop(neighbour->load);
    load_tell_failures(neighbour->load, 0);
    cr_expect_eq(load_last_failure_us(neighbour->load), 0, "a request of a neighbour failed");
    expect_verified(neighbour);
    if (strcmp(neighbour->cell, "main") == 0)
        load_check_consistency(neighbour->load);
}

/* -- moves ------------------------------------------------------------------------------------ */

static void move_to(const struct org *org, const char *cell)
{
    const int64_t from_us = clock_mono_us();
    FILE *process = popen(format("'%s/convctl' cell move %s --to %s --grace 0",
                                 stack_setting("BIN_DIR"), org->id, cell),
                          "r");
    json_t *moved;
    int64_t closed_ms;

    cr_assert_not_null(process);
    watch_until_ended(process);
    moved = json_loadf(process, 0, NULL);
    cr_assert_eq(pclose(process), 0);
    closed_ms = json_integer_value(json_object_get(moved, "closed_ms"));
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
    const char *before, *expected;
    struct chain_head head;
    struct org org;

    org_new_in(&org, "main");
    json_decref(convctl("org", "set", org.id, "--rate-limit", "100000", NULL));
    fill(&org, size);
    head = await_head(&org);
    before = filled_rows(&org, "main");
    fprintf(stderr, "%d conversations, with %d entries and %d events each: %s\n",
            size.conversations, size.entries, size.events, before);
    expected = format("%d ", size.conversations);
    cr_assert_eq(strncmp(before, expected, strlen(expected)), 0);
    move_there_and_back(&org, size.times);
    cr_expect_str_eq(filled_rows(&org, "main"), before);
    (void)await_head(&org);
    expect_head_kept(&org, head);
}

Test(large_move, loses_no_row_and_harms_nobody)
{
    const bool is_whole = long_form_or(1, 0) == 1;
    const size_t n = is_whole ? ARRAY_SIZE(whole) : ARRAY_SIZE(usual);

    own_stack_start("large-moves", (const char *const[]){"CELLS=2", NULL});
    for (size_t i = 0; i < ARRAY_SIZE(neighbours); i++)
        begin_beside(&neighbours[i]);
    for (size_t i = 0; i < n; i++)
        move_one(is_whole ? whole[i] : usual[i]);
    for (size_t i = 0; i < ARRAY_SIZE(neighbours); i++)
        end_beside(&neighbours[i]);
    own_stack_stop();
}
