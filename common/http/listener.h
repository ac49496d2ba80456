/*
 * listener - accepts connections on one port, up to a number of open ones.
 *
 * What     A port is taken when the listener is opened, and who connects is refused until it
 *          listens. Where there are several loops each has a separate listener on the same port.
 *          An address has a sixteenth of the connections that are allowed, the network around it
 *          (a /24, an IPv6 /48) a quarter; one more is closed at once. When all are open, further
 *          ones wait in the kernel's queue for one that is idle: of those of the network that has
 *          most the one that has been idle for longest is shut.
 *          Closing a socket that has unread bytes makes the kernel reset the connection, which can
 *          destroy the response on its way. So a connection with a request not read to its end
 *          gets a lingering close: a duplicate of the socket outlives h2o's, ends our side, reads
 *          what still comes and throws it away, until the client closes, a limit of bytes or two
 *          seconds.
 * Owns     The listening sockets, the list of the open connections, and the duplicates.
 * Threads  The loop's.
 * Fails    ST_UNAVAILABLE when the port cannot be bound (logged).
 */
#ifndef COMMON_HTTP_LISTENER_H
#define COMMON_HTTP_LISTENER_H

#include <h2o.h>
#include <openssl/ssl.h>
#include <stdbool.h>

#include "common/base/ip.h"
#include "common/base/status.h"

/* -- open connections -------------------------------------------------------------------------- */

#define CONNECTIONS_BUCKETS 1024

struct peer_count; /* an address or a network with connections, and how many */

struct connections {
    h2o_linklist_t all, idle; /* idle: without a request under way, longest first */
    size_t n, n_leaving, max, max_of_one, max_of_network;
    const struct networks *trusted;
    struct peer_count *counts[CONNECTIONS_BUCKETS];
    uint64_t seed;
    struct listener *first_listener;
};

void connections_init(struct connections *connections, size_t max, const struct networks *trusted);
/* A request of the connection has begun, or is done with. */
void connection_busy(h2o_socket_t *sock);
void connection_rests(h2o_socket_t *sock);
/* Every connection is shut down; h2o then closes them in the loop's next steps. */
void connections_shut_down(struct connections *connections);

/* -- listeners --------------------------------------------------------------------------------- */

struct listener {
    struct listener *next;
    struct connections *connections;
    h2o_accept_ctx_t accept;
    int fd;             /* bound; -1 once it listens or is closed */
    h2o_socket_t *sock; /* from then on */
    bool paused;
};

struct listener_options {
    const char *address; /* numeric */
    uint16_t port;
    bool shared;  /* other loops listen there too */
    SSL_CTX *tls; /* NULL = plain */
};

MUST_CHECK enum status listener_open(struct listener *listener, struct connections *connections,
                                     h2o_context_t *context,
                                     const struct listener_options *options);
/* Accepts connections from now on; one that was never opened, listens already or is closed is fine.
   False: another process listens there. */
MUST_CHECK bool listener_listen(struct listener *listener);
void listener_close(struct listener *listener);
/* Accepts again if it had to pause and there is room now. */
void listener_resume(struct listener *listener);

/* TLS 1.2 and 1.3, HTTP/1.1 only. NULL (logged) when the files are no good. */
SSL_CTX *listener_tls(const char *cert_file, const char *key_file);

/* -- lingering close --------------------------------------------------------------------------- */

#define LINGERING_CLOSES_MAX 256 /* at once; further connections are just closed */

struct lingering_closes {
    h2o_loop_t *loop;
    h2o_linklist_t all;
    size_t n;
    h2o_timeout_t soon, timeout;
};

void lingering_close_init(struct lingering_closes *lingering, h2o_loop_t *loop);
/* Ends them early. */
void lingering_close_end_all(struct lingering_closes *lingering);

/* Call before h2o closes `sock`, when it will not read from it any more. */
void lingering_close_begin(struct lingering_closes *lingering, h2o_socket_t *sock);

#endif
