/*
 * replica - one more process of a service beside those of the stack, with the test's own settings.
 *
 * What     The stack's program with the environment of its first process, on its own ports. Its
 *          metrics count only the test's requests.
 * Owns     Stop every started replica; the process dies with the test in any case.
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

/* Starts a gateway and returns once it is ready. `settings`: "NAME=VALUE", ended by NULL. */
void replica_start(struct replica *replica, const char *const *settings);
/* The same for another service. */
void replica_start_of(struct replica *replica, const char *service, const char *const *settings);
void replica_stop(struct replica *replica);
/* Stops several at the same time. */
void replicas_stop(struct replica *replicas, size_t n);

/* The same in two steps: start the process, and wait until it is ready. */
void replica_launch_of(struct replica *replica, const char *service, const char *const *settings);
void replica_await(struct replica *replica);
/* A gateway with `log_fd` as standard error. */
void replica_launch_into(struct replica *replica, int log_fd, const char *const *settings);
/* SIGKILL; and a new gateway on the ports of the killed one. */
void replica_kill(struct replica *replica);
void replica_launch_again(struct replica *replica, const char *const *settings);
/* The DATABASE_URL of the stack's first process of a service, with another place:
   "HOST:PORT/DATABASE". */
const char *replica_database_url(const char *service, const char *place);

/* The processes of the stack itself, by name and admin port, to be queried but not stopped: all of
   them, returning their number; or one. */
enum { REPLICAS_OF_STACK_MAX = 32 };
size_t replicas_of_stack(struct replica replicas[REPLICAS_OF_STACK_MAX]);
struct replica replica_of_stack(const char *name);
/* Waits until all of them are ready and the database has the expected number of connections; false
   on timeout. */
bool replicas_of_stack_await_ready(int timeout_ms);

/* The response of its admin listener at a path; status 0 while nothing listens there. */
struct client_response *replica_ask(const struct replica *replica, const char *path);
/* Waits for its end; returns its exit status. */
int replica_await_end(struct replica *replica);

/* A metric by name and labels, as in /metrics; fails the test if there is none. */
long long replica_metric(const struct replica *replica, const char *series);
/* The whole of /metrics; lives until the test's process ends. */
const char *replica_metrics(const struct replica *replica);

#endif
