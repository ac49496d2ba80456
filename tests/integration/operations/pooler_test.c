/* A deployment whose services reach PostgreSQL through PgBouncer in transaction mode. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "common/base/str.h"
#include "tests/support/api_client.h"
#include "tests/support/pgbouncer.h"
#include "tests/support/second_deployment.h"

static const char *const services[] = {"access", "conversation", "search", "audit", "webhook"};

enum { GATEWAY = ARRAY_SIZE(services), REPLICAS, CLIENTS = 4, ROUNDS = 6, WITHIN_MS = 30000 };

static struct second_deployment deployment;
static struct pgbouncer pooler;
static struct replica replicas[REPLICAS];
static struct org org;

static const char *settings_of(const char *service)
{
    return format("DATABASE_URL=postgresql://conv_%s@127.0.0.1:%u/conversations", service,
                  pooler.port);
}

static void open_deployment(void)
{
    const char *passwords = "", *bus;

    stack_have_alone();
    pgbouncer_need(PGBOUNCER_TRACKS);
    org_new(&org);
    json_decref(convctl("org", "set", org.id, "--rate-limit", "100000", NULL));
    second_deployment_open(&deployment);
    for (size_t i = 0; i < ARRAY_SIZE(services); i++)
        passwords = format("%s\"conv_%s\" \"\"\n", passwords, services[i]);
    pgbouncer_start(&pooler, format("127.0.0.1:%u", deployment.database.port), passwords,
                    "default_pool_size = 2\n");
    bus = format("NATS_URL=%s", deployment.bus.url);
    for (size_t i = 0; i < ARRAY_SIZE(services); i++)
        replica_launch_of(&replicas[i], services[i],
                          (const char *const[]){bus, settings_of(services[i]), NULL});
    replica_launch_of(&replicas[GATEWAY], "gateway", (const char *const[]){bus, NULL});
    for (size_t i = 0; i < REPLICAS; i++)
        replica_await(&replicas[i]);
}

static void close_deployment(void)
{
    if (pooler.pid == 0)
        return; /* skipped */
    replicas_stop(replicas, REPLICAS);
    pgbouncer_stop(&pooler);
    second_deployment_close(&deployment);
}

TestSuite(pooler, .init = open_deployment, .fini = close_deployment);

static long long count(const char *query)
{
    return postgres_integer(second_deployment_database_url(&deployment, "postgres"), query);
}

static struct client_response *send(const char *method, const char *path, const char *body)
{
    return http_send(&(struct client_request){.method = method,
                                              .base = replicas[GATEWAY].base,
                                              .path = path,
                                              .key = org.full_key,
                                              .body = body});
}

static struct client_response *create(const char *external_id)
{
    return send("POST", "/conversations",
                format("{\"external_id\":\"%s\",\"from\":{\"external_id\":\"c-%s\"}}", external_id,
                       external_id));
}

/* How many there are in the database: of conversations with that id, of entries of that request. */
static long long conversations(const char *external_id)
{
    return count(format("SELECT count(*) FROM conversation.conversations WHERE external_id = '%s'",
                        external_id));
}

static long long entries(const struct client_response *response)
{
    return count(
        format("SELECT count(*) FROM audit.entries WHERE request_id = '%s'", response->request_id));
}

/* 13 connections of the services, or more, share what is at most two for each role. */
Test(pooler, serves_requests_over_few_connections_to_the_server)
{
    for (int i = 0; i < 20; i++) {
        const struct client_response *made = create(format("few-%d", i)), *found;

        expect_status(made, 201);
        found = send("GET", format("/conversations/%s", text_at(made, "id")), NULL);
        expect_status(found, 200);
        cr_expect_eq(entries(made), 1);
        cr_expect_eq(entries(found), 1);
    }
    cr_expect_leq(count("SELECT count(*) FROM pg_stat_activity WHERE usename LIKE 'conv%'"), 10);
    postgres_await(second_deployment_database_url(&deployment, "postgres"),
                   format("SELECT (max(entries) >= 40)::int FROM audit.blocks"
                          " WHERE organization_id = '%s'",
                          org.id));
}

/* -- outages ------------------------------------------------------------------------------------ */

static atomic_bool has_ended;
static atomic_int answered[600];

static void check(const char *external_id, const struct client_response *made)
{
    const long long n = conversations(external_id);

    atomic_fetch_add(&answered[made->status], 1);
    if (made->status == 201)
        cr_expect(n == 1 && entries(made) == 1, "%s", external_id);
    else if (made->status == 503)
        cr_expect_eq(n, 0, "%s was answered 503 and written", external_id);
    else
        cr_expect_eq(made->status, 500, "%s: %d", external_id, made->status);
}

enum { MADE_MAX = 2000 };

struct client {
    pthread_t thread;
    int number, n;
    const struct client_response *made[MADE_MAX];
};

static void *run_client(void *closure)
{
    struct client *client = closure;

    while (!atomic_load(&has_ended) && client->n < MADE_MAX) {
        client->made[client->n] = create(format("c-%d-%d", client->number, client->n));
        client->n++;
    }
    return NULL;
}

static bool is_served(void *closure)
{
    return create(format("s-%d", atomic_fetch_add((atomic_int *)closure, 1)))->status == 201;
}

/* Ends all sessions of the services at the server, in whatever they do. */
static void end_sessions(void)
{
    (void)count("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename LIKE"
                " 'conv%'");
}

Test(pooler, is_killed_and_loses_its_connections_without_a_wrong_answer)
{
    static struct client clients[CLIENTS];
    static atomic_int tried;

    for (int i = 0; i < CLIENTS; i++) {
        clients[i].number = i;
        cr_assert_eq(pthread_create(&clients[i].thread, NULL, run_client, &clients[i]), 0);
    }
    for (int round = 0; round < ROUNDS; round++) {
        cr_expect(stack_wait(is_served, &tried, WITHIN_MS), "round %d", round);
        if (round % 2 == 0) {
            end_sessions();
        } else {
            pgbouncer_kill(&pooler);
            pgbouncer_start_again(&pooler);
        }
    }
    cr_expect(stack_wait(is_served, &tried, WITHIN_MS));
    atomic_store(&has_ended, true);
    for (int i = 0; i < CLIENTS; i++) {
        pthread_join(clients[i].thread, NULL);
        for (int k = 0; k < clients[i].n; k++)
            check(format("c-%d-%d", i, k), clients[i].made[k]);
    }
    cr_expect_gt(answered[201], 0);
    cr_log_info("201: %d, 500: %d, 503: %d", answered[201], answered[500], answered[503]);
}
