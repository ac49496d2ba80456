/* The metrics of every process, and the alerts and the board that rely on them. */
#include <criterion/criterion.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/api_client.h"
#include "tests/support/http_client.h"
#include "tests/support/never_free.h"
#include "tests/support/postgres_server.h"
#include "tests/support/replica.h"
#include "tests/support/sql.h"

TestSuite(metrics, .init = stack_share);

#define NAME_LIMIT 80

static void hold_against_promtool(const char *process, const char *metrics)
{
    FILE *promtool = popen("promtool check metrics", "w");

    cr_assert_not_null(promtool);
    cr_assert_eq(fwrite(metrics, 1, strlen(metrics), promtool), strlen(metrics));
    cr_assert_eq(pclose(promtool), 0, "%s: promtool reports problems", process);
}

Test(metrics, of_every_process_are_valid_for_prometheus)
{
    struct replica replicas[REPLICAS_OF_STACK_MAX];
    const size_t n = replicas_of_stack(replicas);

    for (size_t i = 0; i < n; i++)
        hold_against_promtool(replicas[i].name, replica_metrics(&replicas[i]));
}

/* -- what alerts and the board rely on --------------------------------------------------------- */

struct all_metrics {
    const char *of[REPLICAS_OF_STACK_MAX];
    size_t n;
};

static bool is_in(const struct all_metrics *all, const char *piece)
{
    for (size_t i = 0; i < all->n; i++)
        if (strstr(all->of[i], piece) != NULL)
            return true;
    return false;
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "re");
    char *text = never_free(calloc(1, 1 << 20));

    cr_assert(file != NULL && text != NULL, "%s", path);
    cr_assert_lt(fread(text, 1, (1 << 20) - 1, file), (1 << 20) - 1);
    fclose(file);
    return text;
}

/* The next name of one of our metrics at or after *at, without a histogram's suffix. */
static bool next_name(const char **at, char name[NAME_LIMIT])
{
    static const char *const ends[] = {"_bucket", "_sum", "_count"};
    const char *found = strstr(*at, "conversations_");
    size_t n = 0;

    if (found == NULL)
        return false;
    while (isalnum((unsigned char)found[n]) || found[n] == '_')
        n++;
    cr_assert_lt(n, (size_t)NAME_LIMIT);
    memcpy(name, found, n);
    name[n] = '\0';
    *at = found + n;
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        size_t end = strlen(ends[i]);

        if (n > end && strcmp(name + n - end, ends[i]) == 0)
            name[n - end] = '\0';
    }
    return true;
}

static int look_for_names(const char *path, const struct all_metrics *all)
{
    const char *at = read_file(path);
    char name[NAME_LIMIT];
    int n = 0;

    while (next_name(&at, name)) {
        if (strcmp(name, "conversations_") == 0) /* a pattern for several names */
            continue;
        cr_expect(is_in(all, format("# TYPE %s ", name)), "%s: no process has %s", path, name);
        n++;
    }
    return n;
}

Test(metrics, that_alerts_and_the_board_speak_of_exist)
{
    struct replica replicas[REPLICAS_OF_STACK_MAX];
    struct all_metrics all = {.n = replicas_of_stack(replicas)};

    for (size_t i = 0; i < all.n; i++)
        all.of[i] = replica_metrics(&replicas[i]);
    cr_assert_gt(look_for_names("deploy/monitoring/alerts.yaml", &all), 20);
    cr_assert_gt(look_for_names("deploy/monitoring/grafana.json", &all), 30);
}

Test(metrics, of_the_rules_have_a_test_each_and_all_alerts_are_explained)
{
    const char *rules = read_file("deploy/monitoring/alerts.yaml"),
               *tests = read_file("deploy/monitoring/alerts_test.yaml"),
               *page = read_file("docs/alerts.md");
    char name[NAME_LIMIT];
    int n = 0;

    cr_assert_eq(system("promtool test rules deploy/monitoring/alerts_test.yaml >/dev/null"), 0);
    for (const char *at = rules; (at = strstr(at, "alert: ")) != NULL; n++) {
        at += strlen("alert: ");
        cr_assert_eq(sscanf(at, "%79s", name), 1);
        cr_expect_not_null(strstr(tests, format("name: %s fires\n", name)), "%s", name);
        cr_expect_not_null(strstr(tests, format("name: %s is silent\n", name)), "%s", name);
        cr_expect_not_null(strstr(page, format("### %s\n", name)), "%s", name);
    }
    cr_assert_gt(n, 20);
}

/* -- gauges over all organizations ------------------------------------------------------------- */

static long long value_now(const char *process, const char *series)
{
    const struct replica replica = replica_of_stack(process);

    return replica_metric(&replica, series);
}

static long long endpoints_now(void)
{
    return value_now("webhook-0", "conversations_webhook_endpoints{health=\"healthy\"}");
}

/* Other tests make and remove endpoints meanwhile, but fewer than this one makes. */
enum { ENDPOINTS = 200 };

static bool has_many_more(void *closure)
{
    const long long *before = closure;

    return endpoints_now() > *before + ENDPOINTS / 2;
}

Test(metrics, count_the_endpoints_of_all_organizations)
{
    long long before = endpoints_now();
    struct org org;

    org_new(&org);
    cr_assert_eq(
        sql_integer("WITH made AS (INSERT INTO webhook.endpoints (organization_id, id, url,"
                    " events, signing, secret) SELECT $1::uuid, gen_random_uuid(),"
                    " 'https://receiver.example.com/hook', ARRAY['t'], false, ''"
                    " FROM generate_series(1, $2::int) RETURNING 1)"
                    " SELECT count(*) FROM made",
                    org.id, format("%d", ENDPOINTS), NULL),
        ENDPOINTS);
    cr_assert(stack_wait(has_many_more, &before, 60000));
}

/* -- the lag of the seal ----------------------------------------------------------------------- */

#define LAG "conversations_audit_seal_lag_seconds"

static void let_seal(void)
{
    postgres_do(stack_setting("DATABASE_URL"), "GRANT INSERT ON audit.blocks TO conv_audit");
}

static bool lags(void *closure)
{
    return value_now("audit-0", LAG) >= 3;
}

static bool is_sealed(void *closure)
{
    return value_now("audit-0", LAG) <= 1;
}

Test(metrics, tell_the_lag_of_the_seal_when_sealing_fails, .fini = let_seal)
{
    struct org org;

    org_new(&org);
    cr_assert(stack_wait(is_sealed, NULL, 60000));
    postgres_do(stack_setting("DATABASE_URL"), "REVOKE INSERT ON audit.blocks FROM conv_audit");
    expect_status(api_get(org.full_key, "/ping"), 200);
    cr_assert(stack_wait(lags, NULL, 60000));
    let_seal();
    cr_assert(stack_wait(is_sealed, NULL, 60000));
}

/* -- the database server ----------------------------------------------------------------------- */

static bool has_read_the_server(void *closure)
{
    return value_now("audit-0", "conversations_database_size_bytes") > 1000000;
}

/* As the service's own role, on a database that `migrate` has made. */
Test(metrics, show_the_database_server)
{
    long long oldest, now;

    cr_assert(stack_wait(has_read_the_server, NULL, 60000));
    oldest = value_now("audit-0", "conversations_database_oldest_transaction");
    now = sql_integer("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint", NULL);
    cr_expect_gt(oldest, 0);
    cr_expect_leq(oldest, now);
    cr_expect_gt(value_now("audit-0", "conversations_database_unfrozen_transactions"), 0);
}
