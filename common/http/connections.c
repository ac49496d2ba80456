#include "common/http/connections.h"

#include <stdlib.h>
#include <sys/socket.h>

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/http/edge_metrics.h"

/* A client has this long to send a whole request before its connection may make room. */
#define IDLE_MIN_US 1000000
/* How many addresses, or networks, it takes to use up the connections of a loop. */
#define ADDRESSES_MIN 16
#define NETWORKS_MIN  4
/* Finding connections to shut down takes a look at all idle ones: so this part of all goes at once. */
#define ROOM_PART 256

/* A connection as one of its address, or of its network. */
struct member {
    struct connection *self;
    struct peer *peer; /* NULL: a trusted proxy */
    struct list idle_link;
};

struct connection {
    struct list link, idle_link;
    struct connections *all;
    struct member near, wide; /* of its address, and of its network */
    h2o_socket_t *sock;
    SSL_CTX *tls; /* a reference, since h2o has none before the client's first bytes; NULL: plain */
    size_t requests;
    bool leaves;     /* shut down to make room */
    int64_t idle_us; /* monotonic: since when */
    struct timer timer;
    h2o_socket_cb read; /* h2o's, while on_first_byte() is in its place */
};

void connections_init(struct connections *connections, struct timers *timers,
                      const struct connections_options *options)
{
    const size_t max = options->max;

    *connections = (struct connections){
        .timers = timers,
        .request_ms = options->request_ms,
        .idle_ms = options->idle_ms,
        .max = max,
        .max_of_one = max >= ADDRESSES_MIN ? max / ADDRESSES_MIN : 1,
        .max_of_network = max >= NETWORKS_MIN ? max / NETWORKS_MIN : 1,
        .trusted = options->trusted,
    };
    peers_init(&connections->peers);
    list_init(&connections->all);
    list_init(&connections->idle);
}

bool connections_are_full(const struct connections *connections)
{
    return connections->n >= connections->max;
}

/* -- ends ------------------------------------------------------------------------------------ */

/* Drops what was not read: h2o would handle that request but could not send its response. What comes
   later makes the kernel reset the connection. If only our side of reading were shut down, h2o would
   respond, but not close while a client does not read what it writes (a 413, TLS's alert). */
static void shut_down(const struct connection *connection)
{
    const int fd = h2o_socket_get_fd(connection->sock);

    (void)shutdown(fd, SHUT_RDWR);
    for (char dropped[16384]; recv(fd, dropped, sizeof(dropped), MSG_DONTWAIT) > 0;)
        ;
}

void connections_shut_down(struct connections *connections)
{
    struct connection *connection;

    LIST_EACH(connection, &connections->all, link)
        shut_down(connection);
}

/* -- timers ---------------------------------------------------------------------------------- */

/* The request did not arrive in time, or h2o could not close the connection. */
static void on_slow(struct timer *timer)
{
    shut_down(H2O_STRUCT_FROM_MEMBER(struct connection, timer, timer));
}

static void limit_request(struct connection *connection)
{
    timer_start(connection->all->timers, &connection->timer, connection->all->request_ms, on_slow);
}

/* In the place of h2o's callback, for one call. */
static void on_first_byte(h2o_socket_t *sock, const char *err)
{
    struct connection *connection = sock->on_close.data;

    limit_request(connection);
    h2o_socket_read_start(sock, connection->read);
    connection->read(sock, err); /* may close the connection */
}

/* Shuts our side of reading down, so that h2o reads what has arrived, or else closes. A client that
   does not let it send TLS's alert is cut off. */
static void end(struct connection *connection)
{
    char byte;

    if (recv(h2o_socket_get_fd(connection->sock), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0)
        (void)shutdown(h2o_socket_get_fd(connection->sock), SHUT_RD);
    limit_request(connection);
}

static void on_idle(struct timer *timer)
{
    end(H2O_STRUCT_FROM_MEMBER(struct connection, timer, timer));
}

void connections_end_idle(struct connections *connections)
{
    struct connection *connection;

    LIST_EACH(connection, &connections->idle, idle_link)
        if (connection->timer.on_due == on_idle)
            end(connection);
}

/* In the loop's same step as the end of the response, when h2o has started to read again: the next
   request has arrived in part, h2o is closing the connection, or nothing is there yet. */
static void on_rested(struct timer *timer)
{
    struct connection *connection = H2O_STRUCT_FROM_MEMBER(struct connection, timer, timer);
    h2o_socket_t *sock = connection->sock;

    if (sock->input->size > 0 || !h2o_socket_is_reading(sock)) {
        limit_request(connection);
        return;
    }
    connection->read = sock->_cb.read;
    h2o_socket_read_start(sock, on_first_byte);
    timer_start(connection->all->timers, &connection->timer, connection->all->idle_ms, on_idle);
}

/* -- making room ----------------------------------------------------------------------------- */

static void unlink_idle(struct connection *connection)
{
    list_remove(&connection->idle_link);
    list_remove(&connection->near.idle_link);
    list_remove(&connection->wide.idle_link);
}

/* Too recent to make room. */
static bool is_recent(const struct connection *connection)
{
    return connection->idle_us > clock_mono_us() - IDLE_MIN_US;
}

/* Shuts an idle connection down. It ends in the loop's next step. */
static void leave(struct connection *connection)
{
    unlink_idle(connection);
    connection->requests++; /* it no longer counts as idle; never decremented */
    connection->leaves = true;
    connection->all->n_leaving++;
    metric_add(edge_metrics.connections_shed, 1);
    shut_down(connection);
}

/* The connection that has been idle for longest, of the network with the most connections; NULL:
   none has been idle for long enough. */
static struct connection *find_spare(struct connections *connections)
{
    struct connection *connection, *spare = NULL;
    size_t max = 0;

    LIST_EACH(connection, &connections->idle, idle_link) {
        const size_t n = connection->wide.peer != NULL ? connection->wide.peer->n : 1;

        if (is_recent(connection))
            break;
        if (n > max) {
            max = n;
            spare = connection;
        }
    }
    return spare;
}

void connections_make_room(struct connections *connections)
{
    struct connection *const spare = connections->n_leaving == 0 ? find_spare(connections) : NULL;
    const struct peer *const wide = spare != NULL ? spare->wide.peer : NULL;
    size_t n = connections->max / ROOM_PART;
    struct connection *connection;

    if (spare == NULL)
        return;
    LIST_EACH(connection, &connections->idle, idle_link) {
        if (is_recent(connection))
            return;
        if (connection->wide.peer != wide)
            continue;
        leave(connection);
        if (n-- <= 1)
            return;
    }
}

/* Whether the peer, if it is there, may have one more connection; one that is idle makes room for
   it. */
static bool may_add(struct peer *peer, size_t max)
{
    const struct member *oldest;

    if (peer == NULL || peer->n < max)
        return true;
    oldest = LIST_FIRST(&peer->idle, struct member, idle_link);
    if (oldest == NULL || is_recent(oldest->self))
        return false;
    leave(oldest->self);
    return true;
}

/* False: the address, or the network around it, already has as many connections as it may have. */
static bool count_in(struct connections *connections, struct connection *connection)
{
    struct sockaddr_storage storage = {.ss_family = AF_UNSPEC};
    struct network near, wide;
    struct address address;

    (void)h2o_socket_getpeername(connection->sock, (struct sockaddr *)&storage);
    address = address_of((const struct sockaddr *)&storage);
    if (networks_hold(connections->trusted, &address))
        return true;
    near = network_near(&address);
    wide = network_wide(&address);
    if (!may_add(peers_find(&connections->peers, &near), connections->max_of_one) ||
        !may_add(peers_find(&connections->peers, &wide), connections->max_of_network))
        return false;
    connection->near.peer = peers_count_in(&connections->peers, &near);
    connection->wide.peer = peers_count_in(&connections->peers, &wide);
    return true;
}

/* -- one connection -------------------------------------------------------------------------- */

static void rest(struct connection *connection)
{
    connection->idle_us = clock_mono_us();
    list_add(&connection->all->idle, &connection->idle_link);
    if (connection->near.peer == NULL)
        return;
    list_add(&connection->near.peer->idle, &connection->near.idle_link);
    list_add(&connection->wide.peer->idle, &connection->wide.idle_link);
}

static void stop_polling(h2o_socket_t *sock)
{
    h2o_socket_dont_read(sock, 0);
    h2o_socket_read_stop(sock);
}

/* The client sent more, or closed its side, before its request was answered. What arrived stays in
   the kernel until h2o reads the next request. */
static void on_early(h2o_socket_t *sock, const char *err)
{
    (void)err;
    stop_polling(sock);
}

/* h2o has just stopped reading, and starts again after the response. Between the two it would remove
   the socket from epoll and add it again, half of a request's system calls on the socket; so the
   socket stays polled, but unread: the request may still point into the input. */
static void keep_polling(h2o_socket_t *sock)
{
    must(!h2o_socket_is_reading(sock));
    h2o_socket_dont_read(sock, 1);
    h2o_socket_read_start(sock, on_early);
}

h2o_socket_t *connection_socket(h2o_conn_t *conn)
{
#if H2O_LIBRARY_VERSION_MINOR < 14
    return conn->callbacks->get_socket(conn);
#else
    /* h2o has no function for it. Its private struct of an HTTP/1 connection begins like this. */
    const struct {
        h2o_conn_t conn;
        h2o_socket_t *sock;
    } *const http1 = (const void *)conn;

    return http1->sock;
#endif
}

void connection_busy(h2o_socket_t *sock)
{
    struct connection *connection = sock->on_close.data;

    keep_polling(sock);
    timer_stop(&connection->timer);
    if (connection->requests++ == 0)
        unlink_idle(connection);
    /* It was shut down while h2o was sending 100 Continue for a request that it had read. The client
       gets no response, and new clients do not wait for the end of the request. */
    connection->all->n_leaving -= connection->leaves;
    connection->leaves = false;
}

void connection_rests(h2o_socket_t *sock)
{
    struct connection *connection = sock->on_close.data;

    stop_polling(sock);
    if (--connection->requests > 0)
        return;
    rest(connection);
    timer_start(connection->all->timers, &connection->timer, 0, on_rested);
}

static void on_closed(void *data)
{
    struct connection *connection = data;
    struct connections *connections = connection->all;

    timer_stop(&connection->timer);
    list_remove(&connection->link);
    unlink_idle(connection);
    if (connection->near.peer != NULL) {
        peers_count_out(&connections->peers, connection->near.peer);
        peers_count_out(&connections->peers, connection->wide.peer);
    }
    connections->n_leaving -= connection->leaves;
    SSL_CTX_free(connection->tls);
    free(connection);
    connections->n--;
    metric_add(edge_metrics.connections, -1);
    if (connections->on_closed != NULL)
        connections->on_closed(connections);
}

void connections_add(struct connections *connections, h2o_accept_ctx_t *accept, h2o_socket_t *sock)
{
    struct connection *connection = heap_zeroed(1, sizeof(*connection));

    connection->all = connections;
    connection->sock = sock;
    connection->near.self = connection->wide.self = connection;
    if (!count_in(connections, connection)) {
        metric_add(edge_metrics.connections_refused, 1);
        h2o_socket_close(sock);
        free(connection);
        return;
    }
    connection->tls = accept->ssl_ctx;
    if (connection->tls != NULL)
        SSL_CTX_up_ref(connection->tls);
    list_add(&connections->all, &connection->link);
    rest(connection);
    limit_request(connection);
    connections->n++;
    metric_add(edge_metrics.connections, 1);
    sock->on_close.cb = on_closed;
    sock->on_close.data = connection;
    h2o_accept(accept, sock);
}
