/* The bus as a cluster of three servers, under load: they are killed, or rolled, one by one. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    ROLL_RATE = 300,
    SOME = 50 /* requests of the load */,
    FAIL_MAX = 30 /* of a hundred; 1 to 7 are usual, 16 under a sanitizer on a busy machine */
};
enum { WITHIN_MS = 30000 };

static const char *const services[] = {"access", "conversation", "search", "audit"};
enum { N_SERVICES = ARRAY_SIZE(services) };

static struct nats_server nodes[NODES];
static int monitors[NODES]; /* their monitoring ports */

/* The users of the stack's bus with their permissions; free() the text. */
static char *users_of_stack(void)
{
    enum { TEXT_MAX = 1 << 20 };
    char *text = calloc(1, TEXT_MAX);
    FILE *file = fopen(format("%s/nats/users.conf", stack_setting("RUN_DIR")), "re");

    cr_assert_not_null(file);
    text[fread(text, 1, TEXT_MAX - 1, file)] = '\0';
    fclose(file);
    return text;
}

static void start_cluster(void)
{
    char *const users = users_of_stack();
    int routes[NODES];

    for (int i = 0; i < NODES; i++) {
        routes[i] = port_free();
        monitors[i] = port_free();
    }
    for (int i = 0; i < NODES; i++)
        nats_server_prepare(&nodes[i],
                            format("max_payload: 8MB\nserver_name: node-%d\n"
                                   "http: \"127.0.0.1:%d\"\n"
                                   "lame_duck_duration: 30s\nlame_duck_grace_period: 5s\n"
                                   "cluster { name: tests, listen: \"127.0.0.1:%d\", routes: ["
                                   "\"nats://127.0.0.1:%d\", \"nats://127.0.0.1:%d\"] }\n%s",
                                   i, monitors[i], routes[i], routes[(i + 1) % NODES],
                                   routes[(i + 2) % NODES], users));
    free(users);
    for (int i = 0; i < NODES; i++)
        nats_server_start(&nodes[i]);
}

/* All servers, with the service's user in the stack. Clients try the servers in random order. */
static const char *url_of_cluster(const char *service)
{
    const char *url = format("%s", stack_setting_of(format("%s-0", service), "NATS_URL"));
    const int user = (int)(strchr(url, '@') - url) + 1;
    const size_t scheme = sizeof("nats://") - 1;

    return format("NATS_URL=%.*s%s,%.*s%s,%.*s%s", user, url, nodes[0].url + scheme, user, url,
                  nodes[1].url + scheme, user, url, nodes[2].url + scheme);
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

/* A number from a server's /varz; -1: it does not answer. */
static long long told_by(int node, const char *member)
{
    const struct client_response *response =
        http_send(&(struct client_request){.method = "GET",
                                           .base = format("http://127.0.0.1:%d", monitors[node]),
                                           .path = "/varz",
                                           .may_fail = true,
                                           .skip_checks = true});

    return response->status == 200 ? json_integer_value(at(response, member)) : -1;
}

/* nats-server 2.9 has a route to each other server; later ones have several, and one of the system's
   account. While there are fewer or more, messages may be lost. */
static bool has_its_routes(void *closure)
{
    const int node = *(int *)closure;
    const long long pool = told_by(node, "cluster.pool_size");

    return told_by(node, "routes") == (NODES - 1) * (pool > 0 ? pool + 1 : 1);
}

/* Also true without an answer: the server ends when it has closed its last client. */
static bool has_no_clients(void *closure)
{
    return told_by(*(int *)closure, "connections") <= 0;
}

/* A gateway and services on the cluster. */
struct deployment {
    struct replica gateway, services[N_SERVICES];
    struct org org;
};

static void deploy(struct deployment *deployment)
{
    const char *settings[2] = {NULL};

    org_new(&deployment->org);
    json_decref(convctl("org", "set", deployment->org.id, "--rate-limit", "100000", NULL));
    start_cluster();
    for (int i = 0; i < N_SERVICES; i++) {
        settings[0] = url_of_cluster(services[i]);
        replica_launch_of(&deployment->services[i], services[i], settings);
    }
    settings[0] = url_of_cluster("gateway");
    replica_start(&deployment->gateway, settings);
    for (int i = 0; i < N_SERVICES; i++)
        replica_await(&deployment->services[i]);
    cr_assert(stack_wait(serves, (void *[]){&deployment->org, &deployment->gateway}, WITHIN_MS));
}

static void undeploy(struct deployment *deployment)
{
    replica_stop(&deployment->gateway);
    replicas_stop(deployment->services, N_SERVICES);
    for (int i = 0; i < NODES; i++)
        nats_server_stop(&nodes[i]);
}

/* Allows for requests in flight and a stall or two of a busy machine; an outage would fail all. */
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
    struct deployment deployment;
    struct load *load;
    int64_t killed_us[NODES + 1];

    deploy(&deployment);
    load = load_start_at(deployment.gateway.base, &deployment.org, RATE);
    cr_assert(load_await_served(load, SOME, WITHIN_MS));
    for (int i = 0; i < NODES; i++) {
        killed_us[i] = clock_mono_us();
        nats_server_kill(&nodes[i]);
        cr_assert(load_await_served(load, SOME, WITHIN_MS), "the cluster does not survive");
        nats_server_start(&nodes[i]);
        cr_assert(load_await_served(load, SOME, WITHIN_MS), "the cluster does not recover");
    }
    killed_us[NODES] = INT64_MAX;
    load_stop(load);
    expect_healing(load, killed_us);
    load_check_consistency(load);
    undeploy(&deployment);
}

/* As on Kubernetes: the server announces its end (lame duck mode), so clients have time to leave. */
static void roll(int node)
{
    cr_assert(stack_wait(has_its_routes, &node, WITHIN_MS));
    cr_assert_eq(kill(nodes[node].pid, SIGUSR2), 0);
    cr_assert(stack_wait(has_no_clients, &node, 2 * WITHIN_MS), "its clients do not leave");
    nats_server_kill(&nodes[node]);
    nats_server_start(&nodes[node]);
    for (int i = 0; i < NODES; i++)
        cr_assert(stack_wait(has_its_routes, &i, WITHIN_MS));
}

/* A reply over another connection than its request's would be denied. */
static void expect_no_denials(const struct deployment *deployment)
{
    static const char *const denied = "conversations_bus_permission_violations_total";

    cr_expect_eq(replica_metric(&deployment->gateway, denied), 0, "gateway");
    for (int i = 0; i < N_SERVICES; i++)
        cr_expect_eq(replica_metric(&deployment->services[i], denied), 0, "%s", services[i]);
}

Test(cluster, answers_every_request_while_its_servers_are_rolled)
{
    struct deployment deployment;
    struct load *load;
    int sent, failed;

    deploy(&deployment);
    load = load_start_at(deployment.gateway.base, &deployment.org, ROLL_RATE);
    cr_assert(load_await_served(load, SOME, WITHIN_MS));
    for (int i = 0; i < NODES; i++) {
        roll(i);
        cr_assert(load_await_served(load, SOME, WITHIN_MS));
    }
    load_stop(load);
    sent = load_sent(load, 0, INT64_MAX);
    failed = load_failures(load, 0, INT64_MAX);
    load_tell_failures(load, 0);
    cr_assert_eq(failed, 0, "%d of %d failed", failed, sent);
    fprintf(stderr, "rolled: %d requests\n", sent);
    expect_no_denials(&deployment);
    load_check_consistency(load);
    undeploy(&deployment);
}
