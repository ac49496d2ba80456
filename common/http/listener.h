/*
 * listener - accepts connections on one port, up to a limit.
 *
 * What     listener_open() binds the port; connections are refused until listener_listen(). With
 *          several loops, each has its own listener on the same port.
 *          An address may have a sixteenth of the allowed connections, and the network around it
 *          (a /24, an IPv6 /48) a quarter; one more is closed at once. Trusted proxies may have
 *          all. When all are in use, new ones wait in the kernel's queue while an idle connection
 *          is shut down to make room: the one idle for longest of the network that has the most. A
 *          connection is idle until h2o has read a whole request, and again from its response on.
 *          So it may be shut down if its client takes more than a second to send a request, even
 *          in the middle: otherwise clients that send slowly could use up all connections. A
 *          request that arrives as its connection is shut down is dropped unread. Over TLS the
 *          client then gets the end of the connection without a closing alert.
 *          While a request is answered h2o does not read. It would remove the socket from epoll
 *          and add it again: two of a request's four system calls on the socket, and 5 of the
 *          gateway's 24 microseconds. connection_busy() keeps it in epoll, unread, until more arrives.
 *          Closing a socket with unread bytes makes the kernel reset the connection, which can
 *          destroy a response in flight. So a connection whose request was not read to its end
 *          gets a lingering close: a duplicate of the socket outlives h2o's, shuts down our side,
 *          and reads and discards what still arrives, until the client closes, a limit of bytes is
 *          reached or two seconds have passed.
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

struct peer_count; /* an address or a network, and how many connections it has */

struct connections {
    h2o_linklist_t all, idle; /* idle: without a request, the one idle for longest first */
    size_t n, n_leaving, max, max_of_one, max_of_network;
    const struct networks *trusted;
    struct peer_count *counts[CONNECTIONS_BUCKETS];
    uint64_t seed;
    struct listener *first_listener;
};

void connections_init(struct connections *connections, size_t max, const struct networks *trusted);
/* Call when a request of an HTTP/1 connection has begun, in its handler: h2o must have stopped
   reading from the socket; and when it has ended, as it is disposed of: before h2o reads again, or
   closes the socket. */
void connection_busy(h2o_socket_t *sock);
void connection_rests(h2o_socket_t *sock);
/* Shuts every connection down, and drops the requests on them that were not read. h2o closes them
   in the loop's next steps, except one whose request still waits for its response: on that one it
   neither reads nor writes, and closes it only when it is answered. */
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
    bool shared;  /* other loops listen on this port, too */
    SSL_CTX *tls; /* NULL = plain */
};

MUST_CHECK enum status listener_open(struct listener *listener, struct connections *connections,
                                     h2o_context_t *context,
                                     const struct listener_options *options);
/* Accepts connections from now on. A listener that was never opened, listens already or is closed
   is fine. False: another process listens on the port. */
MUST_CHECK bool listener_listen(struct listener *listener);
void listener_close(struct listener *listener);
/* Accepts again if it has paused and there is room now. */
void listener_resume(struct listener *listener);

/* TLS 1.2 and 1.3, HTTP/1.1 only. NULL (logged): the files are unusable. */
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

/* Call before h2o closes `sock`, once h2o will not read from it any more. */
void lingering_close_begin(struct lingering_closes *lingering, h2o_socket_t *sock);

#endif
