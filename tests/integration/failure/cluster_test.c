/* The bus as a cluster of three servers: one of them is killed under load. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "common/base/clock.h"
#include "common/base/str.h"
#include "tests/support/api_client.h"
#include "tests/support/load.h"
#include "tests/support/nats_server.h"
#include "tests/support/port.h"
#include "tests/support/replica.h"

TestSuite(cluster, .init = stack_have_alone);

enum {
    NODES = 3,
    RATE = 100,
    SOME = 50 /* requests of the load */,
    FAIL_MAX = 15 /* of a hundred */
};
enum { WITHIN_MS = 30000 };

static const char *const services[] = {"access", "conversation", "search", "audit"};
enum { N_SERVICES = ARRAY_SIZE(services) };

static struct nats_server nodes[NODES];

static void start_cluster(void)
{
    int routes[NODES];

    for (int i = 0; i < NODES; i++)
        routes[i] = port_free();
    for (int i = 0; i < NODES; i++)
        nats_server_prepare(&nodes[i],
                            format("max_payload: 8MB\nserver_name: node-%d\n"
                                   "cluster { name: tests, listen: \"127.0.0.1:%d\", routes: ["
                                   "\"nats://127.0.0.1:%d\", \"nats://127.0.0.1:%d\"] }\n",
                                   i, routes[i], routes[(i + 1) % NODES], routes[(i + 2) % NODES]));
    for (int i = 0; i < NODES; i++)
        nats_server_start(&nodes[i]);
}

/* Who connects tries them in any order. */
static const char *url_of_cluster(void)
{
    return format("NATS_URL=%s,%s,%s", nodes[0].url, nodes[1].url, nodes[2].url);
}

static bool serves(void *closure)
{
    const struct org *org = ((void **)closure)[0];
    const struct replica *gateway = ((void **)closure)[1];

    return http_send(&(struct client_request){.method = "GET",
                                              .base = gateway->base,
                                              .path = "/ping",
                                              .key = org->full_key,
                                              .may_fail = true})
               ->status == 200;
}

/* What was on its way, and a stall or two of a busy machine; an outage would cost all. */
static void expect_healing(const struct load *load, const int64_t killed_us[NODES + 1])
{
    for (int i = 0; i < NODES; i++) {
        const int sent = load_sent(load, killed_us[i], killed_us[i + 1]);
        const int failed = load_failures(load, killed_us[i], killed_us[i + 1]);

        fprintf(stderr, "server %d killed: %d of %d failed\n", i, failed, sent);
        cr_assert_leq(failed * 100, sent * FAIL_MAX);
    }
}

Test(cluster, lives_on_when_one_of_three_servers_dies)
{
    struct replica gateway, replicas[N_SERVICES];
    struct org org;
    struct load *load;
    int64_t killed_us[NODES + 1];

    org_new(&org);
    json_decref(convctl("org", "set", org.id, "--rate-limit", "100000", NULL));
    start_cluster();
    for (int i = 0; i < N_SERVICES; i++)
        replica_launch_of(&replicas[i], services[i], (const char *const[]){url_of_cluster(), NULL});
    replica_start(&gateway, (const char *const[]){url_of_cluster(), NULL});
    for (int i = 0; i < N_SERVICES; i++)
        replica_await(&replicas[i]);
    cr_assert(stack_wait(serves, (void *[]){&org, &gateway}, WITHIN_MS));
    load = load_start_at(gateway.base, &org, RATE);
    cr_assert(load_await_served(load, SOME, WITHIN_MS));
    for (int i = 0; i < NODES; i++) {
        killed_us[i] = clock_mono_us();
        nats_server_kill(&nodes[i]);
        cr_assert(load_await_served(load, SOME, WITHIN_MS), "it does not live on");
        nats_server_start(&nodes[i]);
        cr_assert(load_await_served(load, SOME, WITHIN_MS), "it does not come together");
    }
    killed_us[NODES] = INT64_MAX;
    load_stop(load);
    expect_healing(load, killed_us);
    load_check_consistency(load);
    replica_stop(&gateway);
    replicas_stop(replicas, N_SERVICES);
    for (int i = 0; i < NODES; i++)
        nats_server_stop(&nodes[i]);
}
