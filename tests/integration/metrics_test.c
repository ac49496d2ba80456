/* What processes say of themselves at /metrics, and the alerts and the board that rely on it. */
#include <criterion/criterion.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/api.h"
#include "tests/support/http.h"
#include "tests/support/keep.h"
#include "tests/support/postgres_server.h"
#include "tests/support/sql.h"

TestSuite(metrics, .init = api_open, .timeout = 240);

#define NAME_MOST 80

/* The /metrics of one process. */
static const char *read_metrics(int port)
{
    struct answer *answer =
        http_send(&(struct http_request){.method = "GET",
                                         .base = format("http://127.0.0.1:%d", port),
                                         .path = "/metrics",
                                         .skip_checks = true});

    cr_assert_eq(answer->status, 200);
    return answer->body;
}

/* Calls for every process of the stack that has an admin port. */
static void each_process(void (*see)(const char *process, const char *metrics, void *closure),
                         void *closure)
{
    FILE *ports = fopen(format("%s/ports", stack_setting("RUN_DIR")), "re");
    char name[64];
    int port, n = 0;

    cr_assert_not_null(ports);
    while (fscanf(ports, "%63s %d", name, &port) == 2) {
        if (strchr(name, '-') == NULL) /* a server of others, or where HTTP comes in */
            continue;
        see(name, read_metrics(port), closure);
        n++;
    }
    fclose(ports);
    cr_assert_geq(n, 6, "one a program at least");
}

static void hold_against_promtool(const char *process, const char *metrics, void *closure)
{
    FILE *promtool = popen("promtool check metrics", "w");

    cr_assert_not_null(promtool);
    cr_assert_eq(fwrite(metrics, 1, strlen(metrics), promtool), strlen(metrics));
    cr_assert_eq(pclose(promtool), 0, "%s: promtool has something to say", process);
}

Test(metrics, of_every_process_are_what_prometheus_expects)
{
    each_process(hold_against_promtool, NULL);
}

/* -- what is relied on ------------------------------------------------------------------------- */

struct all_metrics {
    char *text;
    size_t n;
};

static void append(const char *process, const char *metrics, void *closure)
{
    struct all_metrics *all = closure;
    size_t n = strlen(metrics);

    all->text = realloc(all->text, all->n + n + 1);
    cr_assert_not_null(all->text);
    memcpy(all->text + all->n, metrics, n + 1);
    all->n += n;
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "re");
    char *text = keep(calloc(1, 1 << 20));

    cr_assert(file != NULL && text != NULL, "%s", path);
    cr_assert_lt(fread(text, 1, (1 << 20) - 1, file), (1 << 20) - 1);
    fclose(file);
    return text;
}

/* The next name of a metric of ours at or after *at, without what a histogram appends. */
static bool next_name(const char **at, char name[NAME_MOST])
{
    static const char *const ends[] = {"_bucket", "_sum", "_count"};
    const char *found = strstr(*at, "conversations_");
    size_t n = 0;

    if (found == NULL)
        return false;
    while (isalnum((unsigned char)found[n]) || found[n] == '_')
        n++;
    cr_assert_lt(n, (size_t)NAME_MOST);
    memcpy(name, found, n);
    name[n] = '\0';
    *at = found + n;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        size_t end = strlen(ends[i]);

        if (n > end && strcmp(name + n - end, ends[i]) == 0)
            name[n - end] = '\0';
    }
    return true;
}

static int look_for_names(const char *path, const struct all_metrics *all)
{
    const char *at = read_file(path);
    char name[NAME_MOST];
    int n = 0;

    while (next_name(&at, name)) {
        if (strcmp(name, "conversations_") == 0) /* a pattern over several: their ends follow */
            continue;
        cr_expect_not_null(strstr(all->text, format("# TYPE %s ", name)), "%s: no process has %s",
                           path, name);
        n++;
    }
    return n;
}

Test(metrics, that_alerts_and_the_board_speak_of_exist)
{
    struct all_metrics all = {0};

    each_process(append, &all);
    cr_assert_gt(look_for_names("deploy/monitoring/alerts.yaml", &all), 20);
    cr_assert_gt(look_for_names("deploy/monitoring/grafana.json", &all), 30);
    free(all.text);
}

Test(metrics, of_the_rules_have_a_test_each_and_all_alerts_are_explained)
{
    const char *rules = read_file("deploy/monitoring/alerts.yaml"),
               *tests = read_file("deploy/monitoring/alerts_test.yaml"),
               *page = read_file("docs/alerts.md");
    char name[NAME_MOST];
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

static long long value_now(const char *series)
{
    struct all_metrics all = {0};
    const char *line;
    long long value;

    each_process(append, &all);
    line = strstr(all.text, format("\n%s ", series));
    cr_assert_not_null(line, "%s", series);
    value = strtoll(line + strlen(series) + 2, NULL, 10);
    free(all.text);
    return value;
}

static long long endpoints_now(void)
{
    return value_now("conversations_webhook_endpoints{health=\"healthy\"}");
}

/* Other tests make and remove some meanwhile, but not as many as this one makes. */
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

/* -- what must not stand still ----------------------------------------------------------------- */

#define LAG "conversations_audit_seal_lag_seconds"

static void let_seal(void)
{
    postgres_do(stack_setting("DATABASE_URL"), "GRANT INSERT ON audit.blocks TO conv_audit");
}

static bool lags(void *closure)
{
    return value_now(LAG) >= 3;
}

static bool is_sealed(void *closure)
{
    return value_now(LAG) <= 1;
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
