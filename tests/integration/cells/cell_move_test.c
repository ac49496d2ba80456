/* An organization moves to another cell and back under 200 requests a second: nothing is lost or duplicated, and no
 * other organization is affected. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "tests/support/api_client.h"
#include "tests/support/load.h"
#include "tests/support/measure.h"
#include "tests/support/own_stack.h"
#include "tests/support/postgres_server.h"
#include "tests/support/receiver.h"
#include "tests/support/sealed_log.h"
#include "tests/support/sql.h"
#include "tests/support/webhooks.h"

TestSuite(cell_move, .init = stack_have_alone);

/* With sanitizers, programs on a slow machine cannot serve more: a move would not keep up with what is
   written, and give up. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { PER_SECOND = 50 };
#else
enum { PER_SECOND = 200 };
#endif
enum { BESIDE_PER_SECOND = PER_SECOND / 4, CLOSED_MAX_MS = 2000, MOVES_MAX = 10 };

static void start(void)
{
    own_stack_start("moves", (const char *const[]){"CELLS=2", NULL});
    /* What is copied and compared does not depend on the settings of sessions. */
    postgres_do(own_stack_database_url("cell2"),
                "ALTER DATABASE conversations SET timezone = 'America/New_York';"
                "ALTER DATABASE conversations SET datestyle = 'SQL, DMY';"
                "ALTER DATABASE conversations SET bytea_output = 'escape'");
}

static void org_with_load(struct org *org)
{
    org_new(org);
    json_decref(convctl("org", "set", org->id, "--rate-limit", "100000", NULL));
}

/* `option` may be NULL. Returns for how many milliseconds the organization was closed. */
static int64_t move_with(const struct org *org, const char *cell, const char *option)
{
    json_t *moved = convctl("cell", "move", org->id, "--to", cell, "--grace", "0", option, NULL);
    const int64_t closed_ms = json_integer_value(json_object_get(moved, "closed_ms"));

    cr_assert_str_eq(json_string_value(json_object_get(moved, "step")), "done");
    fprintf(stderr, "to %s: %lld rows, closed for %lld ms\n", cell,
            (long long)json_integer_value(json_object_get(moved, "rows")), (long long)closed_ms);
    json_decref(moved);
    return closed_ms;
}

static int64_t move_to(const struct org *org, const char *cell)
{
    return move_with(org, cell, NULL);
}

static int by_id(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Each conversation's event was delivered once, whichever cell made and sent it. */
static void expect_each_once(const struct org *org, const struct webhook *webhook,
                             struct receiver *receiver)
{
    const size_t n = (size_t)sql_integer("SELECT count(*) FROM conversation.conversations"
                                         " WHERE organization_id = $1::uuid",
                                         org->id, NULL);
    size_t n_received;
    const char **ids;

    cr_assert(receiver_wait(receiver, "/moving", n, 30000), "%zu of %zu came: %s",
              receiver_count(receiver, "/moving"), n,
              json_dumps(webhook_shown(org, webhook), JSON_COMPACT));
    n_received = receiver_count(receiver, "/moving");
    cr_expect_eq(n_received, n, "%zu deliveries of %zu events", n_received, n);
    ids = calloc(n_received, sizeof(*ids));
    for (size_t i = 0; i < n_received; i++)
        ids[i] = receiver_get(receiver, "/moving", i)->event_id;
    qsort(ids, n_received, sizeof(*ids), by_id);
    for (size_t i = 1; i < n_received; i++)
        cr_expect_str_neq(ids[i - 1], ids[i], "delivered twice");
    free(ids);
}

static void expect_nothing_left(const struct org *org, const char *cell)
{
    cr_expect_eq(
        postgres_integer(own_stack_database_url(cell),
                         format("SELECT sum(n)::bigint FROM cell.sum_rows('%s')", org->id)),
        0);
}

Test(cell_move, loses_nothing_under_load)
{
    struct receiver *receiver = receiver_start("good");
    struct webhook webhook;
    struct org org, beside;
    struct load *load, *load_beside;
    const char *const first[] = {"cell2", "main"};
    const int n_moves = long_form_or(MOVES_MAX, 2);
    int64_t begun_us[MOVES_MAX];

    start();
    org_with_load(&org);
    org_with_load(&beside);
    webhook_new(&org, receiver_url(receiver, "/moving"), "conversation.created", &webhook);
    load = load_start(&org, PER_SECOND);
    load_beside = load_start(&beside, BESIDE_PER_SECOND);
    cr_assert(load_await_served(load, PER_SECOND, 20000));
    for (int i = 0; i < n_moves; i++) {
        begun_us[i] = clock_mono_us();
        cr_expect_leq(move_to(&org, first[i % 2]), limit_scaled(CLOSED_MAX_MS));
        cr_assert(load_await_served(load, PER_SECOND, 20000));
    }
    load_stop(load);
    load_stop(load_beside);
    cr_expect_leq(load_longest_refusal_us(load, begun_us, n_moves),
                  limit_scaled(CLOSED_MAX_MS * 1000));
    load_tell_failures(load_beside, 0);
    cr_expect_eq(load_last_failure_us(load_beside), 0, "a request of another organization failed");
    fprintf(stderr, "%d requests, %d refusals\n", load_count(load),
            load_expect_refusals_only(load));
    load_check_consistency(load);
    sealed_log_await_verified(&org);
    expect_each_once(&org, &webhook, receiver);
    expect_nothing_left(&org, "cell2");
    own_stack_stop();
}

static bool is_in(const struct org *org, const char *cell)
{
    json_t *found = convctl("org", "get", org->id, NULL);
    const bool is_there = strcmp(json_string_value(json_object_get(found, "cell")), cell) == 0;

    json_decref(found);
    return is_there;
}

static bool is_under_way(const json_t *cells, const struct org *org)
{
    const json_t *cell, *move;
    size_t i, j;

    json_array_foreach(cells, i, cell)
    {
        json_array_foreach(json_object_get(cell, "moves"), j, move)
        {
            if (strcmp(json_string_value(json_object_get(move, "organization")), org->id) == 0)
                return true;
        }
    }
    return false;
}

/* Kills a move after `ms` milliseconds, then aborts or continues it. */
static void kill_once(const struct org *org, const char *to, int ms, bool is_aborted)
{
    const int status =
        system(format("timeout --signal=KILL %d.%03d '%s/convctl' cell move %s --to %s --grace 0"
                      " >/dev/null 2>&1",
                      ms / 1000, ms % 1000, stack_setting("BIN_DIR"), org->id, to));
    json_t *found;

    fprintf(stderr, "killed after %d ms: %d\n", ms, status);
    /* It may be too late to abort, or the move may be done. */
    if (is_aborted && convctl_succeeds("cell", "move", org->id, "--abort", NULL))
        return;
    found = convctl("cell", "list", NULL);
    if (is_under_way(found, org) || !is_in(org, to))
        (void)move_with(org, to, "--unchecked"); /* it may have been killed before it compared */
    json_decref(found);
}

Test(cell_move, that_is_killed_ends_done_or_undone)
{
    const int kills = long_form_or(30, 6);
    struct receiver *receiver = receiver_start("good");
    struct webhook webhook;
    struct org org;
    struct load *load;

    start();
    srand((unsigned)time(NULL));
    org_with_load(&org);
    webhook_new(&org, receiver_url(receiver, "/moving"), "conversation.created", &webhook);
    load = load_start(&org, PER_SECOND / 2);
    cr_assert(load_await_served(load, PER_SECOND, 20000));
    for (int i = 0; i < kills; i++) {
        kill_once(&org, is_in(&org, "main") ? "cell2" : "main", 20 + rand() % 3000, i % 3 == 2);
        cr_assert(load_await_served(load, 20, 30000));
    }
    if (!is_in(&org, "main"))
        (void)move_to(&org, "main");
    load_stop(load);
    (void)load_expect_refusals_only(load);
    load_check_consistency(load);
    sealed_log_await_verified(&org);
    expect_each_once(&org, &webhook, receiver);
    own_stack_stop();
}
