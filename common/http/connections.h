/*
 * connections - the open connections of one loop's clients: how many there may be, how long each may
 *               wait, and which of them makes room for a new one.
 *
 * What     An address may have a sixteenth of the allowed connections, and the network around it
 *          (a /24, an IPv6 /48) a quarter; trusted proxies may have all. Where that many are open,
 *          the one of that address, or network, that has been idle for longest is shut down in
 *          favour of the new one; if none is idle, the new one is closed at once. When all
 *          connections are in use, new ones wait in the kernel's queue while idle ones of the network
 *          that has the most are shut down.
 *          A connection is idle until h2o has read a whole request, and again from its response on.
 *          So it may be shut down if its client takes more than a second to send a request, even
 *          in the middle: otherwise clients that send slowly could use up all connections. A
 *          request that arrives as its connection is shut down to make room is dropped unread. Over
 *          TLS the client then gets the end of the connection without a closing alert.
 *          A request has `request_ms` from its first byte on, the first one of a connection from the
 *          accept on; then the connection is shut down. Between requests a connection is kept for
 *          `idle_ms`. h2o 2.2.5 has one timer for both, from one response to the next request's last
 *          byte, so these are ours, and h2o's must be longer than both together.
 *          A connection that was idle for too long is ended so that no request is lost that had
 *          arrived by then: only our side of reading is shut down, so that h2o still reads and
 *          answers what is in the socket, and closes when there is nothing.
 *          While a request is answered h2o does not read. It would remove the socket from epoll
 *          and add it again: two of a request's four system calls on the socket, and 5 of the
 *          gateway's 24 microseconds. connection_busy() keeps it in epoll, unread, until more arrives.
 * Owns     The list of the open connections. h2o owns the sockets.
 * Threads  The loop's.
 */
#ifndef COMMON_HTTP_CONNECTIONS_H
#define COMMON_HTTP_CONNECTIONS_H

#include <h2o.h>
#include <openssl/ssl.h>

#include "common/base/ip.h"
#include "common/base/list.h"
#include "common/base/status.h"
#include "common/http/peers.h"
#include "common/http/timer.h"

struct connections_options {
    size_t max;
    unsigned idle_ms, request_ms;
    const struct networks *trusted;
};

struct connections {
    struct timers *timers;
    int64_t request_ms, idle_ms;
    struct list all, idle; /* idle: without a request, the one idle for longest first */
    size_t n, n_leaving, max, max_of_one, max_of_network;
    const struct networks *trusted;
    struct peers peers;
    void (*on_closed)(struct connections *connections); /* there is room; NULL: nobody waits */
};

void connections_init(struct connections *connections, struct timers *timers,
                      const struct connections_options *options);

bool connections_are_full(const struct connections *connections);
/* Shuts down idle connections, unless some are being closed already. As they end, in the loop's next
   steps, on_closed runs. */
void connections_make_room(struct connections *connections);

/* Accepts the socket of a client, over TLS if `accept` has a context for it. If its address has too
   many connections it is closed instead. */
void connections_add(struct connections *connections, h2o_accept_ctx_t *accept, h2o_socket_t *sock);

/* The socket of an HTTP/1 connection. */
h2o_socket_t *connection_socket(h2o_conn_t *conn);
/* Call when a request of an HTTP/1 connection has begun, in its handler: h2o must have stopped
   reading from the socket; and when it has ended, as it is disposed of: before h2o reads again, or
   closes the socket. */
void connection_busy(h2o_socket_t *sock);
void connection_rests(h2o_socket_t *sock);

/* Ends the connections on which no request is arriving. A request that has arrived is answered
   first. */
void connections_end_idle(struct connections *connections);
/* Shuts every connection down, and drops the requests on them that were not read. h2o closes them
   in the loop's next steps, except one whose request still waits for its response: on that one it
   neither reads nor writes, and closes it only when it is answered. */
void connections_shut_down(struct connections *connections);

#endif
