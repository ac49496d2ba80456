/*
 * patroni_cluster - PostgreSQL with a synchronous standby, under Patroni and etcd, on the loopback
 * interface, as deploy/patroni/patroni.yml describes it but with a shorter lease. Its API takes
 * nothing without a password.
 *
 * What     Two nodes, each of which is killed, stopped and cut off as a machine would be. Whoever
 *          comes in comes through a proxy: services and the other node to PostgreSQL, the other node
 *          to Patroni's API. So does the node itself on its way to etcd.
 * Owns     A cluster that was started is to be stopped; it ends with the test in any case.
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

/* Returns when a primary has its synchronous standby. */
void patroni_cluster_start(struct patroni_cluster *cluster);
void patroni_cluster_stop(struct patroni_cluster *cluster);

/* As the services reach it: all hosts. Lives until the test's process ends. */
const char *patroni_cluster_url(const struct patroni_cluster *cluster, const char *user,
                                const char *password, const char *database);
/* The administrator's. */
const char *patroni_cluster_admin_url(const struct patroni_cluster *cluster, const char *database);

/* Waits until one node is the primary and has the other as its synchronous standby; which it is. */
int patroni_cluster_await_synchronous(const struct patroni_cluster *cluster);
/* Whether the node's server takes writes. It must be there, or be dead, but not stand still. */
bool patroni_node_takes_writes(const struct patroni_node *node);

/* All processes of a node at once, as when its machine loses power; and when it is back. */
void patroni_node_kill(struct patroni_node *node);
void patroni_node_start(struct patroni_node *node);
/* Patroni alone, whose PostgreSQL goes on without it; and when Patroni is back. */
void patroni_node_leave_alone(struct patroni_node *node);
void patroni_node_look_after(struct patroni_node *node);
/* An operator's switchover to its standby, which Patroni carries out by itself. */
void patroni_node_hand_over(struct patroni_node *node);
/* All its processes stand still, and the kernel goes on taking connections for them. */
void patroni_node_halt(struct patroni_node *node);
void patroni_node_resume(struct patroni_node *node);
/* What the node writes from now on does not get to its standby; and the way is open again, but what
   was on it is lost. */
void patroni_node_hold_log(struct patroni_node *node);
void patroni_node_lose_log(struct patroni_node *node);
/* Nobody gets through to it, nor does it get through to etcd; its processes go on. What is sent
   meanwhile arrives when the way is open again. */
void patroni_node_cut_off(struct patroni_node *node);
void patroni_node_reconnect(struct patroni_node *node);
/* The same of its way to etcd alone: its primary has to stop, though all others reach it. */
void patroni_node_cut_off_from_etcd(struct patroni_node *node);
void patroni_node_reconnect_to_etcd(struct patroni_node *node);

#endif
