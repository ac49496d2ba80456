/*
 * Failover of PostgreSQL under load: the primary of a Patroni cluster is killed, stopped and cut off
 * in turn, and each time its synchronous standby takes over. Afterwards all answers are compared with
 * the database of the last primary: no success is lost, no request that got a 503 has written
 * anything, nothing is stored twice, and the audit log's seal verifies.
 *
 * TEST_LONG=1: 20 failovers instead of 3, in more ways, at a third of the request rate.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/str.h"
#include "tests/support/api_client.h"
#include "tests/support/load.h"
#include "tests/support/measure.h"
#include "tests/support/nats_server.h"
#include "tests/support/patroni_cluster.h"
#include "tests/support/postgres_server.h"
#include "tests/support/replica.h"
#include "tests/support/sealed_log.h"
#include "tests/support/sql.h"

TestSuite(failover, .init = stack_have_alone);

enum {
    FAILOVERS = 3,
    FAILOVERS_LONG = 20,
    RATE = 300,
    SOME = 200,                          /* successes in a row, from all threads of the load */
    HEALED_WITHIN_US = 10 * 1000 * 1000, /* from the promotion to the last failure */
    STANDBY_AWAY_MS = 9000,              /* by then, the primary goes on alone */
    AHEAD_MS = 1500,                     /* less than the primary waits before it goes on alone */
    WITHIN_MS = 60000,
};

/* Patroni restarts the old primary by itself. */
static void do_nothing(struct patroni_node *node)
{
}

/* The short form uses the first FAILOVERS. */
static const struct way {
    const char *name;
    void (*take_away)(struct patroni_node *node);
    void (*bring_back)(struct patroni_node *node);
    bool is_ahead; /* it has written WAL that never reaches its standby */
} ways[] = {
    {"killed ahead", patroni_node_kill, patroni_node_start, true},
    {"stopped", patroni_node_halt, patroni_node_resume, false},
    {"cut off", patroni_node_cut_off, patroni_node_reconnect, false},
    {"cut off from etcd", patroni_node_cut_off_from_etcd, patroni_node_reconnect_to_etcd, false},
    {"without Patroni", patroni_node_leave_alone, patroni_node_look_after, false},
    {"killed", patroni_node_kill, patroni_node_start, false},
    {"asked to hand over", patroni_node_hand_over, do_nothing, false},
};

/* Losses of the standby: nothing is promoted. The short form uses the first one. */
static const struct way standby_ways[] = {
    {"standby stopped", patroni_node_halt, patroni_node_resume, false},
    {"standby killed", patroni_node_kill, patroni_node_start, false},
};
enum { LOSSES = 1, LOSSES_LONG = ARRAY_SIZE(standby_ways) };

/* Each with the setting that gives migrate the password of its role. */
static const struct {
    const char *name, *password_setting;
} services[] = {
    {"access", "ACCESS_DB_PASSWORD"},   {"conversation", "CONVERSATION_DB_PASSWORD"},
    {"search", "SEARCH_DB_PASSWORD"},   {"audit", "AUDIT_DB_PASSWORD"},
    {"webhook", "WEBHOOK_DB_PASSWORD"},
};
enum { N_SERVICES = ARRAY_SIZE(services) };

struct failover {
    const char *way;
    /* By clock_mono_us(). promoted_us equals failed_us if nothing was promoted. */
    int64_t failed_us, promoted_us, over_us;
};

static struct patroni_cluster cluster;
static struct nats_server bus;
static struct replica replicas[N_SERVICES], gateway;

/* -- a deployment on the cluster ----------------------------------------------------------------- */

static const char *database_url_of(int service)
{
    return patroni_cluster_url(&cluster, format("conv_%s", services[service].name),
                               format("of-%s", services[service].name), "conversations");
}

static void migrate(void)
{
    const char *settings =
        format("DATABASE_URL='%s'", patroni_cluster_admin_url(&cluster, "conversations"));

    postgres_do(patroni_cluster_admin_url(&cluster, "postgres"), "CREATE DATABASE conversations");
    for (int i = 0; i < N_SERVICES; i++)
        settings = format("%s %s=of-%s", settings, services[i].password_setting, services[i].name);
    cr_assert_eq(
        system(format("env %s '%s/migrate' >/dev/null", settings, stack_setting("BIN_DIR"))), 0);
}

/* From here on, the test's helpers use this deployment instead of the stack. */
static void turn_to_it(void)
{
    setenv("DATABASE_URL", patroni_cluster_admin_url(&cluster, "conversations"), 1);
    setenv("NATS_URL", bus.url, 1);
    setenv("BASE_URL", gateway.base, 1);
}

static void open_deployment(void)
{
    const char *bus_url;

    patroni_cluster_start(&cluster);
    migrate();
    nats_server_prepare(&bus, "max_payload: 8MB\n");
    nats_server_start(&bus);
    bus_url = format("NATS_URL=%s", bus.url);
    for (int i = 0; i < N_SERVICES; i++)
        replica_launch_of(
            &replicas[i], services[i].name,
            (const char *const[]){bus_url, format("DATABASE_URL=%s", database_url_of(i)), NULL});
    replica_start(&gateway, (const char *const[]){bus_url, NULL});
    for (int i = 0; i < N_SERVICES; i++)
        replica_await(&replicas[i]);
    turn_to_it();
}

static void close_deployment(void)
{
    replica_stop(&gateway);
    replicas_stop(replicas, N_SERVICES);
    nats_server_stop(&bus);
    patroni_cluster_stop(&cluster);
}

/* -- one failover ------------------------------------------------------------------------------ */

static bool takes_writes(void *node)
{
    return patroni_node_takes_writes(node);
}

static void fail_over(struct failover *failover, const struct way *way, struct load *load)
{
    const int primary = patroni_cluster_await_synchronous(&cluster);
    struct patroni_node *gone = &cluster.nodes[primary];
    struct patroni_node *other = &cluster.nodes[(primary + 1) % PATRONI_NODES];

    cr_assert(load_await_served(load, SOME, WITHIN_MS), "it does not serve before");
    failover->way = way->name;
    failover->failed_us = clock_mono_us();
    if (way->is_ahead) {
        patroni_node_hold_log(gone);
        stack_let_run(AHEAD_MS);
    }
    way->take_away(gone);
    if (way->is_ahead)
        patroni_node_lose_log(gone);
    cr_assert(stack_wait(takes_writes, other, WITHIN_MS), "%s: no promotion", way->name);
    failover->promoted_us = clock_mono_us();
    cr_assert(load_await_served(load, SOME, WITHIN_MS), "%s: it does not recover", way->name);
    way->bring_back(gone);
    (void)patroni_cluster_await_synchronous(&cluster);
    failover->over_us = clock_mono_us();
}

/* The primary, and every commit with it, waits for the lost standby until it goes on alone. */
static void lose_standby(struct failover *failover, const struct way *way, struct load *load)
{
    const int primary = patroni_cluster_await_synchronous(&cluster);
    struct patroni_node *gone = &cluster.nodes[(primary + 1) % PATRONI_NODES];

    cr_assert(load_await_served(load, SOME, WITHIN_MS), "it does not serve before");
    failover->way = way->name;
    failover->failed_us = failover->promoted_us = clock_mono_us();
    way->take_away(gone);
    stack_let_run(STANDBY_AWAY_MS);
    cr_assert(load_await_served(load, SOME, WITHIN_MS), "%s: it does not recover", way->name);
    way->bring_back(gone);
    cr_assert_eq(patroni_cluster_await_synchronous(&cluster), primary, "the standby took over");
    failover->over_us = clock_mono_us();
}

/* -- the checks -------------------------------------------------------------------------------- */

static int64_t last_failure_us(const struct load *load, const struct failover *failover)
{
    int64_t last_us = failover->failed_us;

    for (int i = 0; i < load_count(load); i++) {
        const struct load_record *record = load_record(load, i);
        const bool is_success = record->status >= 200 && record->status < 300;

        if (!is_success && record->sent_us > last_us && record->sent_us < failover->over_us)
            last_us = record->sent_us;
    }
    return last_us;
}

static void check_failover(const struct load *load, const struct failover *failover)
{
    const int64_t last_us = last_failure_us(load, failover);

    if (failover->promoted_us > failover->failed_us)
        fprintf(stderr, "%s: promoted after %.1f s, ", failover->way,
                (double)(failover->promoted_us - failover->failed_us) / 1e6);
    else
        fprintf(stderr, "%s: ", failover->way);
    fprintf(stderr, "the last failure %.1f s later; %d of %d requests failed\n",
            (double)(last_us - failover->promoted_us) / 1e6,
            load_failures(load, failover->failed_us, failover->over_us),
            load_sent(load, failover->failed_us, failover->over_us));
    cr_expect_leq(last_us - failover->promoted_us, HEALED_WITHIN_US, "%s: recovered late",
                  failover->way);
}

static void check_seal(struct org *org)
{
    const struct sealed_log log = {.org = *org};

    sealed_log_await_seal(org);
    sealed_log_expect_sound(&log);
}

Test(failover, loses_nothing_that_was_acknowledged)
{
    static struct failover failovers[FAILOVERS_LONG], losses[LOSSES_LONG];
    const int n = long_form_or(FAILOVERS_LONG, FAILOVERS);
    const int n_losses = long_form_or(LOSSES_LONG, LOSSES);
    struct load *load;
    struct org org;

    open_deployment();
    org_new(&org);
    json_decref(convctl("org", "set", org.id, "--rate-limit", "1000000", NULL));
    load = load_start_at(gateway.base, &org, RATE);
    for (int i = 0; i < n; i++)
        fail_over(&failovers[i], &ways[i % (int)ARRAY_SIZE(ways)], load);
    for (int i = 0; i < n_losses; i++)
        lose_standby(&losses[i], &standby_ways[i], load);
    load_stop(load);
    for (int i = 0; i < n; i++)
        check_failover(load, &failovers[i]);
    for (int i = 0; i < n_losses; i++)
        check_failover(load, &losses[i]);
    fprintf(stderr, "%d requests in all\n", load_count(load));
    load_check_consistency(load);
    check_seal(&org);
    close_deployment();
}
