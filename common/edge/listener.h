/*
 * listener - accepts connections on one port, up to a number of open ones.
 *
 * What     Where there are several loops each has a listener of its own on the same port. When all
 *          the connections that are allowed are open, further ones wait in the kernel's queue.
 * Owns     The listening sockets, and the list of the open connections.
 * Threads  The loop's.
 * Fails    ST_UNAVAILABLE when the port cannot be bound (logged).
 */
#ifndef COMMON_EDGE_LISTENER_H
#define COMMON_EDGE_LISTENER_H

#include <h2o.h>
#include <openssl/ssl.h>
#include <stdbool.h>

#include "common/base/status.h"

struct clients {
    h2o_linklist_t all;
    size_t n, most;
    struct listener *first_listener;
};

struct listener {
    struct listener *next;
    struct clients *clients;
    h2o_accept_ctx_t accept;
    h2o_socket_t *sock;
    bool paused;
};

void clients_init(struct clients *clients, size_t most);
/* Every connection is shut down; h2o then closes them in the loop's next turns. */
void clients_shut_down(struct clients *clients);

struct listener_options {
    const char *address; /* numeric */
    uint16_t port;
    bool shared;  /* other loops listen there too */
    SSL_CTX *tls; /* NULL = plain */
};

MUST_CHECK enum status listener_open(struct listener *listener, struct clients *clients,
                                     h2o_context_t *context,
                                     const struct listener_options *options);
void listener_close(struct listener *listener);
/* Accepts again if it had to pause and there is room now. */
void listener_resume(struct listener *listener);

/* TLS 1.2 and 1.3, HTTP/1.1 only. NULL (logged) when the files are no good. */
SSL_CTX *listener_tls(const char *cert_file, const char *key_file);

#endif
