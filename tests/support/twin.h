/*
 * twin - a second deployment, made from a backup of the stack as docs/operations.md describes it: a
 * PostgreSQL and a nats-server of the test's own. Its services are replicas (replica.h).
 *
 * Owns     A twin that was opened is to be closed.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_TWIN_H
#define TESTS_SUPPORT_TWIN_H

#include "tests/support/nats_server.h"
#include "tests/support/postgres_server.h"
#include "tests/support/replica.h"

struct twin {
    struct postgres_server database;
    struct nats_server bus;
};

void twin_open(struct twin *twin);
void twin_close(struct twin *twin);

/* A service on it, ready; `setting` is one more, or NULL. */
void twin_start(const struct twin *twin, struct replica *replica, const char *service,
                const char *setting, const char *another);
/* Its database, for the administrator or a role. */
const char *twin_database_url(const struct twin *twin, const char *user);

#endif
