#include "tests/support/patroni_cluster.h"

#include <criterion/criterion.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/str.h"
#include "tests/support/api_client.h"
#include "tests/support/port.h"
#include "tests/support/postgres_server.h"
#include "tests/support/stack.h"

#define CONFIG    "deploy/patroni/patroni.yml"
#define PASSWORD  "of-the-administrator"
#define SIGNED_IN "Authorization: Basic cGF0cm9uaTpvZi10aGUtYXBp" /* patroni:of-the-api */
#define TIMES     "{\"ttl\":%d,\"loop_wait\":1,\"retry_timeout\":2}"

enum { WITHIN_MS = 90000, ANSWER_MS = 15000 };

const char *patroni_cluster_url(const struct patroni_cluster *cluster, const char *user,
                                const char *password, const char *database)
{
    return format("postgresql://%s:%s@127.0.0.1:%u,127.0.0.1:%u/%s"
                  "?target_session_attrs=read-write&connect_timeout=2",
                  user, password, cluster->nodes[0].for_services.port,
                  cluster->nodes[1].for_services.port, database);
}

const char *patroni_cluster_admin_url(const struct patroni_cluster *cluster, const char *database)
{
    return patroni_cluster_url(cluster, "admin", PASSWORD, database);
}

/* -- its processes --------------------------------------------------------------------------- */

static const char *log_of(const char *name)
{
    return format("%s/log/%s-of-tests.log", stack_setting("RUN_DIR"), name);
}

static void start_etcd(struct patroni_cluster *cluster)
{
    const char *at = format("http://127.0.0.1:%u", cluster->etcd_port);
    const char *peer = format("http://127.0.0.1:%u", cluster->etcd_peer_port);
    const char *const args[] = {"/usr/bin/etcd", NULL};
    const char *const environment[] = {
        format("ETCD_DATA_DIR=%s/etcd", cluster->folder),
        format("ETCD_LISTEN_CLIENT_URLS=%s", at),
        format("ETCD_ADVERTISE_CLIENT_URLS=%s", at),
        format("ETCD_LISTEN_PEER_URLS=%s", peer),
        format("ETCD_INITIAL_ADVERTISE_PEER_URLS=%s", peer),
        format("ETCD_INITIAL_CLUSTER=default=%s", peer),
        "ETCD_ENABLE_V2=true",
        "ETCD_UNSAFE_NO_FSYNC=true",
        NULL,
    };

    process_tree_start(&cluster->etcd, args, environment, log_of("etcd"), true);
}

void patroni_node_start(struct patroni_node *node)
{
    const char *const args[] = {"/usr/bin/patroni", node->config, NULL};
    const char *const environment[] = {
        format("PATH=%s", getenv("PATH")),
        format("HOME=%s", node->folder),
        format("PATRONI_NAME=%s", node->name),
        format("PATRONI_RESTAPI_LISTEN=127.0.0.1:%u", node->api_port),
        format("PATRONI_RESTAPI_CONNECT_ADDRESS=127.0.0.1:%u", node->to_api.port),
        "PATRONI_RESTAPI_USERNAME=patroni",
        "PATRONI_RESTAPI_PASSWORD=of-the-api",
        format("PATRONI_ETCD_HOSTS=127.0.0.1:%u", node->to_etcd.port),
        "PATRONI_ETCD_USE_PROXIES=true",
        format("PATRONI_POSTGRESQL_LISTEN=127.0.0.1:%u", node->postgres_port),
        format("PATRONI_POSTGRESQL_CONNECT_ADDRESS=127.0.0.1:%u", node->for_standby.port),
        format("PATRONI_POSTGRESQL_DATA_DIR=%s/data", node->folder),
        format("PATRONI_POSTGRESQL_PGPASS=%s/pgpass", node->folder),
        "PATRONI_SUPERUSER_USERNAME=admin",
        "PATRONI_SUPERUSER_PASSWORD=" PASSWORD,
        "PATRONI_REPLICATION_USERNAME=replicator",
        "PATRONI_REPLICATION_PASSWORD=of-the-standby",
        NULL,
    };

    process_tree_start(&node->processes, args, environment, log_of(node->name), true);
}

void patroni_node_kill(struct patroni_node *node)
{
    process_tree_kill(&node->processes);
}

void patroni_node_leave_alone(struct patroni_node *node)
{
    process_tree_kill_named(&node->processes, "patroni");
}

/* Patroni would first stop a PostgreSQL that it finds; here the kill does that, since the tree has
   no other. */
void patroni_node_look_after(struct patroni_node *node)
{
    patroni_node_kill(node);
    patroni_node_start(node);
}

void patroni_node_halt(struct patroni_node *node)
{
    process_tree_halt(&node->processes);
}

void patroni_node_resume(struct patroni_node *node)
{
    process_tree_resume(&node->processes);
}

void patroni_node_hold_log(struct patroni_node *node)
{
    tcp_proxy_pause(&node->for_standby);
}

void patroni_node_lose_log(struct patroni_node *node)
{
    tcp_proxy_cut(&node->for_standby);
    tcp_proxy_restore(&node->for_standby);
}

void patroni_node_cut_off(struct patroni_node *node)
{
    tcp_proxy_pause(&node->to_etcd);
    tcp_proxy_pause(&node->to_api);
    tcp_proxy_pause(&node->for_standby);
    tcp_proxy_pause(&node->for_services);
}

void patroni_node_reconnect(struct patroni_node *node)
{
    tcp_proxy_resume(&node->for_services);
    tcp_proxy_resume(&node->for_standby);
    tcp_proxy_resume(&node->to_api);
    tcp_proxy_resume(&node->to_etcd);
}

void patroni_node_cut_off_from_etcd(struct patroni_node *node)
{
    tcp_proxy_pause(&node->to_etcd);
}

void patroni_node_reconnect_to_etcd(struct patroni_node *node)
{
    tcp_proxy_resume(&node->to_etcd);
}

/* -- what they say --------------------------------------------------------------------------- */

/* `header` may be NULL. */
static struct client_response *ask_with(const struct patroni_node *node, const char *header,
                                        const char *method, const char *path, const char *body)
{
    return http_send(&(struct client_request){.method = method,
                                              .base = format("http://127.0.0.1:%u", node->api_port),
                                              .path = path,
                                              .body = body,
                                              .headers = (const char *const[]){header, NULL},
                                              .timeout_ms = ANSWER_MS,
                                              .may_fail = true,
                                              .skip_checks = true});
}

static struct client_response *ask(const struct patroni_node *node, const char *method,
                                   const char *path, const char *body)
{
    return ask_with(node, SIGNED_IN, method, path, body);
}

bool patroni_node_takes_writes(const struct patroni_node *node)
{
    PGconn *conn = PQconnectdb(format("postgresql://admin:" PASSWORD "@127.0.0.1:%u/postgres"
                                      "?target_session_attrs=read-write&connect_timeout=2",
                                      node->postgres_port));
    const bool takes = PQstatus(conn) == CONNECTION_OK;

    PQfinish(conn);
    return takes;
}

/* A member's role in Patroni's view of the cluster; NULL: no answer, or no such member. */
static const char *role_of(const struct patroni_node *asked, const char *name)
{
    const struct client_response *response = ask(asked, "GET", "/cluster", NULL);
    const json_t *members = json_object_get(response->json, "members"), *member;
    size_t i;

    json_array_foreach(members, i, member)
    {
        const char *state = json_string_value(json_object_get(member, "state"));

        if (strcmp(json_string_value(json_object_get(member, "name")), name) == 0 &&
            state != NULL && (strcmp(state, "running") == 0 || strcmp(state, "streaming") == 0))
            return json_string_value(json_object_get(member, "role"));
    }
    return NULL;
}

static bool has_role(const struct patroni_node *asked, const struct patroni_node *of,
                     const char *wanted)
{
    const char *role = role_of(asked, of->name);

    return role != NULL && strcmp(role, wanted) == 0;
}

struct search {
    const struct patroni_cluster *cluster;
    int primary;
};

static bool is_synchronous(void *closure)
{
    struct search *search = closure;

    for (int i = 0; i < PATRONI_NODES; i++) {
        const struct patroni_node *node = &search->cluster->nodes[i];
        const struct patroni_node *other = &search->cluster->nodes[(i + 1) % PATRONI_NODES];

        search->primary = i;
        if (has_role(node, node, "leader") && has_role(node, other, "sync_standby") &&
            patroni_node_takes_writes(node))
            return true;
    }
    return false;
}

int patroni_cluster_await_synchronous(const struct patroni_cluster *cluster)
{
    struct search search = {.cluster = cluster};

    cr_assert(stack_wait(is_synchronous, &search, WITHIN_MS), "no standby is synchronous: see %s",
              log_of("node-*"));
    return search.primary;
}

void patroni_node_hand_over(struct patroni_node *node)
{
    const struct client_response *response =
        ask(node, "POST", "/switchover", format("{\"leader\":\"%s\"}", node->name));

    cr_assert_eq(response->status, 200, "%s", response->body);
}

/* -- the cluster ----------------------------------------------------------------------------- */

/* The certificate that patroni.yml expects in /etc/patroni; the same for both nodes. */
static void make_certificate(const struct patroni_cluster *cluster)
{
    cr_assert_eq(system(format("cd '%s' && openssl req -x509 -newkey ec -nodes -days 2 -subj /CN=db"
                               " -pkeyopt ec_paramgen_curve:P-256 -keyout server.key"
                               " -out server.pem 2>/dev/null",
                               cluster->folder)),
                 0);
    postgres_give(format("%s/server.key", cluster->folder));
}

static void prepare_node(struct patroni_cluster *cluster, int i)
{
    struct patroni_node *node = &cluster->nodes[i];

    node->postgres_port = port_free();
    node->api_port = port_free();
    tcp_proxy_start(&node->for_services, node->postgres_port);
    tcp_proxy_start(&node->for_standby, node->postgres_port);
    tcp_proxy_start(&node->to_api, node->api_port);
    tcp_proxy_start(&node->to_etcd, cluster->etcd_port);
    node->name = format("node-%d", i);
    node->folder = format("%s/%s", cluster->folder, node->name);
    node->config = format("%s.yml", node->folder);
    cr_assert_eq(mkdir(node->folder, 0700), 0);
    postgres_give(node->folder);
    /* The user postgres may have no access to our folder, nor we to that of the default sockets.
       The last lines of the file are those of `parameters`. */
    cr_assert_eq(system(format("{ sed 's|/etc/patroni/|%s/|' " CONFIG " &&"
                               " echo '    unix_socket_directories: \"\"'; } >'%s' &&"
                               " chmod 644 '%s'",
                               cluster->folder, node->config, node->config)),
                 0);
}

/* Patroni refuses this until the cluster is initialized. */
static bool shorten_lease(void *closure)
{
    return ask(closure, "PATCH", "/config", format(TIMES, PATRONI_LEASE_S))->status == 200;
}

void patroni_cluster_start(struct patroni_cluster *cluster)
{
    const char *parent = getenv("POSTGRES_FOLDER");

    *cluster = (struct patroni_cluster){.etcd_port = port_free(), .etcd_peer_port = port_free()};
    snprintf(cluster->folder, sizeof(cluster->folder), "%s/patroni-test-XXXXXX",
             parent != NULL ? parent : "/tmp");
    cr_assert_not_null(mkdtemp(cluster->folder));
    postgres_give(cluster->folder);
    make_certificate(cluster);
    start_etcd(cluster);
    for (int i = 0; i < PATRONI_NODES; i++)
        prepare_node(cluster, i);
    patroni_node_start(&cluster->nodes[0]);
    cr_assert(stack_wait(shorten_lease, &cluster->nodes[0], WITHIN_MS), "see %s", log_of("node-0"));
    cr_assert_eq(ask_with(&cluster->nodes[0], NULL, "PATCH", "/config", "{}")->status, 401,
                 "Patroni's settings can be changed without a password");
    patroni_node_start(&cluster->nodes[1]);
    cr_assert_eq(patroni_cluster_await_synchronous(cluster), 0);
}

void patroni_cluster_stop(struct patroni_cluster *cluster)
{
    for (int i = 0; i < PATRONI_NODES; i++) {
        struct patroni_node *node = &cluster->nodes[i];

        process_tree_kill(&node->processes);
        tcp_proxy_cut(&node->to_etcd);
        tcp_proxy_cut(&node->to_api);
        tcp_proxy_cut(&node->for_standby);
        tcp_proxy_cut(&node->for_services);
    }
    process_tree_kill(&cluster->etcd);
    cr_assert_eq(system(format("rm -rf '%s'", cluster->folder)), 0);
}
