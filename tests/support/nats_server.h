/*
 * nats_server - a test's own nats-server, on a free port of the loopback interface.
 *
 * Owns     Stop every started server; it dies with the test in any case.
 * Fails    Aborts: without a server there is nothing to test.
 */
#ifndef TESTS_SUPPORT_NATS_SERVER_H
#define TESTS_SUPPORT_NATS_SERVER_H

#include <stdint.h>
#include <sys/types.h>

struct nats_server {
    pid_t pid; /* 0 while it is not running */
    uint16_t port;
    char url[64]; /* without credentials */
    char config_file[64];
};

/* Only picks the port and keeps `config`, text for the server's file (NULL = none). Unless it has
   max_payload, that is as large as our programs require. */
void nats_server_prepare(struct nats_server *server, const char *config);
/* Another text, for its next start or reload. */
void nats_server_configure(const struct nats_server *server, const char *config);
void nats_server_reload(const struct nats_server *server);
/* Returns once it accepts connections; after a kill it starts again on the same port. */
void nats_server_start(struct nats_server *server);
void nats_server_kill(struct nats_server *server);  /* SIGKILL */
void nats_server_pause(struct nats_server *server); /* it reads nothing until resumed */
void nats_server_resume(struct nats_server *server);
void nats_server_stop(struct nats_server *server); /* also deletes its file */

#endif
