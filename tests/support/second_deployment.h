/*
 * second_deployment - a deployment restored from a backup of the stack as docs/operations.md
 * describes: with its own PostgreSQL and nats-server. Its services are replicas (replica.h).
 *
 * Owns     Close every opened deployment.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_SECOND_DEPLOYMENT_H
#define TESTS_SUPPORT_SECOND_DEPLOYMENT_H

#include "tests/support/nats_server.h"
#include "tests/support/postgres_server.h"
#include "tests/support/replica.h"

struct second_deployment {
    struct postgres_server database;
    struct nats_server bus;
};

void second_deployment_open(struct second_deployment *deployment);
void second_deployment_close(struct second_deployment *deployment);

/* Runs migrate on it, as before every start of services. */
void second_deployment_migrate(const struct second_deployment *deployment);
/* Starts a service on it and waits until it is ready; `setting` and `another` are additional
   settings, or NULL. */
void second_deployment_start(const struct second_deployment *deployment, struct replica *replica,
                             const char *service, const char *setting, const char *another);
/* The same without waiting and without additional settings. */
void second_deployment_launch(const struct second_deployment *deployment, struct replica *replica,
                              const char *service);
/* Its database, as the administrator or a role. */
const char *second_deployment_database_url(const struct second_deployment *deployment,
                                           const char *user);

#endif
