/*
 * nginx and haproxy in front of two gateways keep their connections for a little less than the gateways
 * do, as docs/operations.md demands. Clients pause for about that long between their requests, while
 * the gateways are restarted one after the other: no request is lost. All of them are creates, which
 * no balancer sends twice. TEST_LONG=1: a hundred thousand requests.
 */
#include <criterion/criterion.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "tests/support/api_client.h"
#include "tests/support/measure.h"
#include "tests/support/port.h"
#include "tests/support/replica.h"

TestSuite(kept_connections, .init = stack_share);

enum {
    GATEWAYS = 2,
    CLIENTS = 64,
    LONG_CLIENTS = 256,
    ROUNDS = 12,
    LONG_ROUNDS = 400,
    BALANCER_IDLE_MS = 700,
    PURGE_MS = 140,         /* after seven of them, haproxy has closed 128 idle connections */
    AROUND_MS = 20,         /* pauses are longer or shorter than that by up to as much */
    RESTART_REQUESTS = 150, /* from one restart to the next */
    WAITS_MS = 60000
};

static const char *const settings[] = {"IDLE_TIMEOUT_MS=1500", "SHUTDOWN_DELAY_MS=1000", NULL};
static struct replica gateways[GATEWAYS];

/* -- the balancers --------------------------------------------------------------------------- */

static FILE *create(const char *path)
{
    FILE *const file = fopen(path, "we");

    cr_assert_not_null(file, "%s", path);
    return file;
}

static void write_nginx(const char *path, const char *folder, int port)
{
    FILE *const to = create(path);

    fprintf(to,
            "daemon off;\nmaster_process off;\npid %s/nginx-%d.pid;\nerror_log stderr crit;\n"
            "events {}\nhttp {\n  access_log off;\n",
            folder, port);
    for (const char *const *kind =
             (const char *const[]){"client_body", "proxy", "fastcgi", "uwsgi", "scgi", NULL};
         *kind != NULL; kind++)
        fprintf(to, "  %s_temp_path %s/nginx-%s;\n", *kind, folder, *kind);
    fprintf(to, "  upstream gateways {\n");
    for (int i = 0; i < GATEWAYS; i++)
        fprintf(to, "    server 127.0.0.1:%d max_fails=0;\n", gateways[i].port);
    fprintf(to,
            "    keepalive %d;\n    keepalive_timeout %dms;\n  }\n"
            "  server {\n    listen 127.0.0.1:%d;\n    location / {\n"
            "      proxy_pass http://gateways;\n      proxy_http_version 1.1;\n"
            "      proxy_set_header Connection \"\";\n    }\n  }\n}\n",
            LONG_CLIENTS, BALANCER_IDLE_MS, port);
    cr_assert_eq(fclose(to), 0);
}

/* haproxy closes half of its idle connections at a time, so the last ones are kept for several of
   these times. A gateway that stops is left out before it closes connections. */
static void write_haproxy(const char *path, int port)
{
    FILE *const to = create(path);

    fprintf(to,
            "defaults\n  mode http\n  http-reuse always\n  option redispatch 1\n  retries 3\n"
            "  retry-on conn-failure\n  timeout connect 2s\n  timeout client 30s\n"
            "  timeout server 30s\n  option httpchk GET /readyz\n"
            "  default-server check inter 100ms fall 1 rise 1\n"
            "listen gateways\n  bind 127.0.0.1:%d\n",
            port);
    for (int i = 0; i < GATEWAYS; i++)
        fprintf(to, "  server gateway-%d 127.0.0.1:%d port %d pool-purge-delay %dms\n", i,
                gateways[i].port, gateways[i].admin_port, PURGE_MS);
    cr_assert_eq(fclose(to), 0);
}

static bool answers(void *base)
{
    return http_send(&(struct client_request){.method = "GET",
                                              .base = base,
                                              .path = "/ping",
                                              .may_fail = true,
                                              .skip_checks = true})
               ->status == 401;
}

/* Returns the base URL for requests through it. */
static char *start(const char *const *argv, int port)
{
    char *const base = format("http://127.0.0.1:%d/api/v1", port);
    const pid_t pid = fork();

    cr_assert_geq(pid, 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execvp(argv[0], (char *const *)argv);
        _exit(127);
    }
    cr_assert(stack_wait(answers, base, WAITS_MS), "%s does not answer", argv[0]);
    return base;
}

static char *start_nginx(void)
{
    char *const folder = format("%s", stack_setting("RUN_DIR"));
    const int port = port_free();
    char *const path = format("%s/nginx-%d.conf", folder, port);

    write_nginx(path, folder, port);
    return start((const char *const[]){"nginx", "-p", folder, "-c", path, NULL}, port);
}

static char *start_haproxy(void)
{
    const int port = port_free();
    char *const path = format("%s/haproxy-%d.cfg", stack_setting("RUN_DIR"), port);

    write_haproxy(path, port);
    return start((const char *const[]){"haproxy", "-db", "-q", "-f", path, NULL}, port);
}

/* -- the clients ----------------------------------------------------------------------------- */

struct client {
    pthread_t thread;
    pthread_barrier_t *together; /* with the others of its balancer */
    const char *base;
    const struct org *org;
    int number, rounds;
    int lost; /* requests without a success */
};

static atomic_int n_answered;

/* The clients of a balancer send at the same time, so that it needs all of its connections, which
   have all been idle for as long as they pause. */
static void *repeat(void *closure)
{
    struct client *client = closure;

    for (int i = 0; i < client->rounds; i++) {
        const struct client_response *response;

        (void)pthread_barrier_wait(client->together);
        response = http_send(&(struct client_request){
            .method = "POST",
            .base = client->base,
            .path = "/conversations",
            .body = format("{\"external_id\":\"kept-%d-%d\",\"from\":{\"external_id\":\"kept\"}}",
                           client->number, i),
            .key = client->org->full_key,
            .may_fail = true,
            .skip_checks = true});

        if (response->status != 201) {
            fprintf(stderr, "%s: %d %s\n", client->base, response->status, response->body);
            client->lost++;
        }
        atomic_fetch_add(&n_answered, 1);
        poll(NULL, 0, BALANCER_IDLE_MS - AROUND_MS + 7 * i % (2 * AROUND_MS));
    }
    return NULL;
}

static bool has_answered(void *n)
{
    return atomic_load(&n_answered) >= *(const int *)n;
}

/* Restarts one gateway after the other, each after some requests, while clients send more. */
static int restart_gateways(int requests)
{
    int n = 0, at;

    while ((at = atomic_load(&n_answered) + RESTART_REQUESTS) < requests) {
        struct replica *const gateway = &gateways[n++ % GATEWAYS];

        cr_assert(stack_wait(has_answered, &at, WAITS_MS));
        cr_expect_gt(replica_metric(gateway, "conversations_gateway_connections"), 0);
        replica_stop(gateway);
        replica_launch_again(gateway, settings);
        replica_await(gateway);
    }
    return n;
}

Test(kept_connections, lose_no_request_however_long_they_pause_and_when_gateways_restart)
{
    static struct client clients[LONG_CLIENTS];
    const int n = long_form_or(LONG_CLIENTS, CLIENTS), rounds = long_form_or(LONG_ROUNDS, ROUNDS);
    pthread_barrier_t together[2];
    const char *bases[2];
    struct org org;
    int restarts;

    for (int i = 0; i < GATEWAYS; i++)
        replica_start(&gateways[i], settings);
    bases[0] = start_nginx();
    bases[1] = start_haproxy();
    org_new(&org);
    json_decref(convctl("org", "set", org.id, "--rate-limit", "100000", NULL));
    for (int i = 0; i < 2; i++)
        cr_assert_eq(pthread_barrier_init(&together[i], NULL, (unsigned)n / 2), 0);
    for (int i = 0; i < n; i++) {
        clients[i] = (struct client){.together = &together[i % 2],
                                     .base = bases[i % 2],
                                     .org = &org,
                                     .number = i,
                                     .rounds = rounds};
        cr_assert_eq(pthread_create(&clients[i].thread, NULL, repeat, &clients[i]), 0);
    }
    restarts = restart_gateways(n * rounds);
    for (int i = 0; i < n; i++) {
        pthread_join(clients[i].thread, NULL);
        cr_expect_eq(clients[i].lost, 0, "through %s", clients[i].base);
    }
    fprintf(stderr, "%d requests, %d restarts\n", atomic_load(&n_answered), restarts);
    replicas_stop(gateways, GATEWAYS);
}
