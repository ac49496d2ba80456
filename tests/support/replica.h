/*
 * replica - one more process of a service beside those of the stack, with settings of the test's
 * own.
 *
 * What     The stack's program with the environment of its first process, on its own ports. Its
 *          metrics count the test's requests alone.
 * Owns     A struct that was started is to be stopped; the process dies with the test in any case.
 * Threads  The test's main thread.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_REPLICA_H
#define TESTS_SUPPORT_REPLICA_H

#include <stdbool.h>
#include <sys/types.h>

#include "tests/support/http_client.h"

struct replica {
    pid_t pid;
    int port, admin_port;
    char base[64]; /* of a gateway, for struct client_request */
    char name[64]; /* of one of the stack's */
};

/* A gateway. Returns when it is ready. `settings`: "NAME=VALUE", the last one NULL. */
void replica_start(struct replica *replica, const char *const *settings);
/* The same of another service. */
void replica_start_of(struct replica *replica, const char *service, const char *const *settings);
void replica_stop(struct replica *replica);
/* The same of several at the same time. */
void replicas_stop(struct replica *replicas, size_t n);

/* The same in two steps: it runs, ready or not; and the wait for it. */
void replica_launch_of(struct replica *replica, const char *service, const char *const *settings);
void replica_await(struct replica *replica);
/* A gateway with `log_fd` as standard error. */
void replica_launch_into(struct replica *replica, int log_fd, const char *const *settings);
/* SIGKILL; and a gateway on the ports of the one that was killed. */
void replica_kill(struct replica *replica);
void replica_launch_again(struct replica *replica, const char *const *settings);
/* The DATABASE_URL of the stack's first process of a service, but at another place:
   "HOST:PORT/DATABASE". */
const char *replica_database_url(const char *service, const char *place);

/* The processes of the stack itself, by their names and admin ports, to be asked and not to be
   stopped: how many there are; or one of them. */
enum { REPLICAS_OF_STACK_MAX = 32 };
size_t replicas_of_stack(struct replica replicas[REPLICAS_OF_STACK_MAX]);
struct replica replica_of_stack(const char *name);
/* Waits until all of them are ready, and the database has as many links as they say; false when the
   time is over. */
bool replicas_of_stack_await_ready(int timeout_ms);

/* What it says at a path of its admin listener; status 0 while nothing listens there. */
struct client_response *replica_ask(const struct replica *replica, const char *path);
/* Waits for its end; its exit status. */
int replica_await_end(struct replica *replica);

/* A metric by its name with labels, as /metrics has it; fails when there is none. */
long long replica_metric(const struct replica *replica, const char *series);
/* The whole of /metrics; lives until the test's process ends. */
const char *replica_metrics(const struct replica *replica);

#endif
