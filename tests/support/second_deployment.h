/*
 * second_deployment - a deployment made from a backup of the stack as docs/operations.md describes
 * it: a PostgreSQL and a nats-server of the test's own. Its services are replicas (replica.h).
 *
 * Owns     The test closes what it has opened.
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
/* A service on it, ready; `setting` is one more, or NULL. */
void second_deployment_start(const struct second_deployment *deployment, struct replica *replica,
                             const char *service, const char *setting, const char *another);
/* The same without the wait, and without more settings. */
void second_deployment_launch(const struct second_deployment *deployment, struct replica *replica,
                              const char *service);
/* Its database, for the administrator or a role. */
const char *second_deployment_database_url(const struct second_deployment *deployment,
                                           const char *user);

#endif
