/*
 * listener - accepts connections on one port.
 *
 * What     listener_open() binds the port; connections are refused until listener_listen(). With
 *          several loops, each has its own listener on the same port. While all of a
 *          loop's connections (connections.h) are in use, new ones wait in the kernel's queue.
 * Owns     The listening socket.
 * Threads  The loop's.
 * Fails    ST_UNAVAILABLE when the port cannot be bound (logged).
 */
#ifndef COMMON_HTTP_LISTENER_H
#define COMMON_HTTP_LISTENER_H

#include <h2o.h>
#include <stdbool.h>

#include "common/base/status.h"
#include "common/http/connections.h"
#include "common/http/tls_certificate.h"

struct listener {
    struct connections *connections; /* NULL: it was never opened */
    struct tls_certificate *certificate;
    h2o_accept_ctx_t accept;
    int fd;             /* bound; -1 once it listens or is closed */
    h2o_socket_t *sock; /* from then on */
    bool paused;
};

struct listener_options {
    const char *address; /* bound_socket.h */
    uint16_t port;
    bool shared;                         /* other loops listen on this port, too */
    struct tls_certificate *certificate; /* NULL = plain */
};

MUST_CHECK enum status listener_open(struct listener *listener, struct connections *connections,
                                     h2o_context_t *context,
                                     const struct listener_options *options);
/* Accepts connections from now on. A listener that was never opened, listens already or is closed
   is fine. False: another process listens on the port. */
MUST_CHECK bool listener_listen(struct listener *listener);
/* Accepts the connections that wait, and no more. */
void listener_close(struct listener *listener);
/* Accepts again if it has paused and there is room now. */
void listener_resume(struct listener *listener);

#endif
