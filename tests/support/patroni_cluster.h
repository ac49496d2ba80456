/*
 * patroni_cluster - PostgreSQL with a synchronous standby, under Patroni and etcd, on the loopback
 * interface, configured like deploy/patroni/patroni.yml but with a shorter lease. Patroni's API
 * requires a password for everything.
 *
 * What     Two nodes, each of which can be killed, stopped and cut off like a machine. All
 *          connections go through proxies: from services and the other node to PostgreSQL, from the
 *          other node to Patroni's API, and from the node itself to etcd.
 * Owns     Stop every started cluster; it ends with the test in any case.
 * Threads  The test's main thread.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_PATRONI_CLUSTER_H
#define TESTS_SUPPORT_PATRONI_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/support/process_tree.h"
#include "tests/support/tcp_proxy.h"

enum { PATRONI_NODES = 2, PATRONI_LEASE_S = 5 };

struct patroni_node {
    struct process_tree processes;
    uint16_t postgres_port, api_port;
    struct tcp_proxy for_services, for_standby, to_api, to_etcd;
    const char *name, *folder, *config; /* until the test's process ends */
};

struct patroni_cluster {
    char folder[128];
    uint16_t etcd_port, etcd_peer_port;
    struct process_tree etcd;
    struct patroni_node nodes[PATRONI_NODES];
};

/* Returns once a primary has its synchronous standby. */
void patroni_cluster_start(struct patroni_cluster *cluster);
void patroni_cluster_stop(struct patroni_cluster *cluster);

/* The URL that services use, with all hosts. Lives until the test's process ends. */
const char *patroni_cluster_url(const struct patroni_cluster *cluster, const char *user,
                                const char *password, const char *database);
/* The administrator's. */
const char *patroni_cluster_admin_url(const struct patroni_cluster *cluster, const char *database);

/* Waits until one node is the primary and has the other as its synchronous standby; returns its
   index. */
int patroni_cluster_await_synchronous(const struct patroni_cluster *cluster);
/* Whether the node's server takes writes. The server must be running or dead, but not halted. */
bool patroni_node_takes_writes(const struct patroni_node *node);

/* Kills all processes of a node at once, as if its machine lost power; and starts it again. */
void patroni_node_kill(struct patroni_node *node);
void patroni_node_start(struct patroni_node *node);
/* Kills Patroni alone, while its PostgreSQL keeps running; and starts Patroni again. */
void patroni_node_leave_alone(struct patroni_node *node);
void patroni_node_look_after(struct patroni_node *node);
/* An operator's switchover to its standby, which Patroni carries out by itself. */
void patroni_node_hand_over(struct patroni_node *node);
/* Halts all its processes, while the kernel still accepts connections for them. */
void patroni_node_halt(struct patroni_node *node);
void patroni_node_resume(struct patroni_node *node);
/* Holds back the log that the node sends to its standby from now on; and opens the way again,
   discarding what was held. */
void patroni_node_hold_log(struct patroni_node *node);
void patroni_node_lose_log(struct patroni_node *node);
/* Cuts off the node from everything, including etcd, while its processes keep running. What is sent
   meanwhile arrives after reconnecting. */
void patroni_node_cut_off(struct patroni_node *node);
void patroni_node_reconnect(struct patroni_node *node);
/* The same for its way to etcd alone: its primary has to stop, although everything else reaches
   it. */
void patroni_node_cut_off_from_etcd(struct patroni_node *node);
void patroni_node_reconnect_to_etcd(struct patroni_node *node);

#endif
