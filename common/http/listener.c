#include "common/http/listener.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/str.h"
#include "common/crypto/crypto.h"
#include "common/http/edge_request.h"

#define BACKLOG    4096
#define ACCEPT_MAX 64 /* in one step of the loop */
/* h2o reads a socket until it is empty: this limits how much one connection can put into memory. */
#define RECEIVE_BUFFER (128 * 1024)
/* Limits how much of an unread response the kernel holds, which would otherwise grow to 4 MiB. */
#define SEND_BUFFER (256 * 1024)

/* A client has this long to send a whole request before its connection counts as idle. */
#define IDLE_MIN_US 1000000
/* How many addresses, or networks, it takes to use up the connections of a loop. */
#define ADDRESSES_MIN 16
#define NETWORKS_MIN  4

struct peer_count {
    struct peer_count *next;
    struct network network;
    size_t n;
};

struct connection {
    h2o_linklist_t link, idle_link;
    struct connections *all;
    struct peer_count *near, *wide; /* NULL: a trusted proxy */
    h2o_socket_t *sock;
    size_t requests;
    bool leaves;     /* shut down to make room */
    int64_t idle_us; /* monotonic: since when */
};

void connections_init(struct connections *connections, size_t max, const struct networks *trusted)
{
    *connections = (struct connections){
        .max = max,
        .max_of_one = max >= ADDRESSES_MIN ? max / ADDRESSES_MIN : 1,
        .max_of_network = max >= NETWORKS_MIN ? max / NETWORKS_MIN : 1,
        .trusted = trusted,
    };
    crypto_random(&connections->seed, sizeof(connections->seed));
    h2o_linklist_init_anchor(&connections->all);
    h2o_linklist_init_anchor(&connections->idle);
}

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
    for (h2o_linklist_t *at = connections->all.next; at != &connections->all; at = at->next)
        shut_down(H2O_STRUCT_FROM_MEMBER(struct connection, link, at));
}

/* -- connections of each client -------------------------------------------------------------- */

/* The address of the pointer to it, or of the NULL pointer at the end of its list. */
static struct peer_count **find_count(struct connections *connections,
                                      const struct network *network)
{
    const uint64_t hash = hash_key(network->base.b, connections->seed ^ network->bits);
    struct peer_count **at = &connections->counts[hash % CONNECTIONS_BUCKETS];

    while (*at != NULL && !network_equal(&(*at)->network, network))
        at = &(*at)->next;
    return at;
}

/* NULL: it already has `max` connections. */
static struct peer_count *count_one(struct connections *connections, struct network network,
                                    size_t max)
{
    struct peer_count **at = find_count(connections, &network);

    if (*at == NULL) {
        *at = heap_zeroed(1, sizeof(**at));
        (*at)->network = network;
    } else if ((*at)->n >= max) {
        return NULL;
    }
    (*at)->n++;
    return *at;
}

static void count_out(struct connections *connections, struct peer_count *count)
{
    struct peer_count **at;

    if (count == NULL || --count->n > 0)
        return;
    at = find_count(connections, &count->network);
    *at = count->next;
    free(count);
}

/* Sets both to NULL for a trusted proxy. False: the address, or the network around it, already has
   as many connections as it may have. */
static bool count_in(struct connections *connections, h2o_socket_t *sock, struct peer_count **near,
                     struct peer_count **wide)
{
    struct sockaddr_storage storage = {.ss_family = AF_UNSPEC};
    struct address address;

    *near = *wide = NULL;
    (void)h2o_socket_getpeername(sock, (struct sockaddr *)&storage);
    address = address_of((const struct sockaddr *)&storage);
    if (networks_hold(connections->trusted, &address))
        return true;
    *near = count_one(connections, network_near(&address), connections->max_of_one);
    if (*near == NULL)
        return false;
    *wide = count_one(connections, network_wide(&address), connections->max_of_network);
    if (*wide == NULL)
        count_out(connections, *near);
    return *wide != NULL;
}

/* -- one connection -------------------------------------------------------------------------- */

static void rest(struct connection *connection)
{
    connection->idle_us = clock_mono_us();
    h2o_linklist_insert(&connection->all->idle, &connection->idle_link);
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

void connection_busy(h2o_socket_t *sock)
{
    struct connection *connection = sock->on_close.data;

    keep_polling(sock);
    if (connection->requests++ == 0)
        h2o_linklist_unlink(&connection->idle_link);
    /* It was shut down while h2o was sending 100 Continue for a request that it had read. The client
       gets no response, and new clients do not wait for the end of the request. */
    connection->all->n_leaving -= connection->leaves;
    connection->leaves = false;
}

void connection_rests(h2o_socket_t *sock)
{
    struct connection *connection = sock->on_close.data;

    stop_polling(sock);
    if (--connection->requests == 0)
        rest(connection);
}

static void on_closed(void *data)
{
    struct connection *connection = data;
    struct connections *connections = connection->all;

    h2o_linklist_unlink(&connection->link);
    if (h2o_linklist_is_linked(&connection->idle_link))
        h2o_linklist_unlink(&connection->idle_link);
    count_out(connections, connection->near);
    count_out(connections, connection->wide);
    connections->n_leaving -= connection->leaves;
    free(connection);
    connections->n--;
    metric_add(edge_metrics.connections, -1);
    for (struct listener *l = connections->first_listener; l != NULL; l = l->next)
        listener_resume(l);
}

static void adopt(struct listener *listener, h2o_socket_t *sock)
{
    struct peer_count *near, *wide;
    struct connection *connection;

    if (!count_in(listener->connections, sock, &near, &wide)) {
        metric_add(edge_metrics.connections_refused, 1);
        h2o_socket_close(sock);
        return;
    }
    connection = heap_zeroed(1, sizeof(*connection));
    connection->all = listener->connections;
    connection->near = near;
    connection->wide = wide;
    connection->sock = sock;
    h2o_linklist_insert(&listener->connections->all, &connection->link);
    rest(connection);
    listener->connections->n++;
    metric_add(edge_metrics.connections, 1);
    sock->on_close.cb = on_closed;
    sock->on_close.data = connection;
    h2o_accept(&listener->accept, sock);
}

/* The connection that has been idle for longest, of the network with the most connections; NULL:
   none has been idle for long enough. */
static struct connection *find_spare(struct connections *connections)
{
    const int64_t since_us = clock_mono_us() - IDLE_MIN_US;
    struct connection *spare = NULL;
    size_t max = 0;

    for (h2o_linklist_t *node = connections->idle.next; node != &connections->idle;
         node = node->next) {
        struct connection *connection = H2O_STRUCT_FROM_MEMBER(struct connection, idle_link, node);
        const size_t n = connection->wide != NULL ? connection->wide->n : 1;

        if (connection->idle_us > since_us)
            break;
        if (n > max) {
            max = n;
            spare = connection;
        }
    }
    return spare;
}

/* Shuts down an idle connection. When it ends, in the loop's next step, the next client is
   accepted; until then no other is shut down. */
static void make_room(struct connections *connections)
{
    struct connection *connection = connections->n_leaving == 0 ? find_spare(connections) : NULL;

    if (connection == NULL)
        return;
    h2o_linklist_unlink(&connection->idle_link);
    connection->requests++; /* it no longer counts as idle; never decremented */
    connection->leaves = true;
    connections->n_leaving++;
    metric_add(edge_metrics.connections_shed, 1);
    shut_down(connection);
}

/* -- accepting ------------------------------------------------------------------------------- */

static bool is_full(const struct connections *connections)
{
    return connections->n >= connections->max;
}

static void pause_accepting(struct listener *listener)
{
    listener->paused = true;
    h2o_socket_read_stop(listener->sock);
}

static void on_acceptable(h2o_socket_t *sock, const char *err)
{
    struct listener *listener = sock->data;

    if (is_full(listener->connections)) {
        make_room(listener->connections);
        pause_accepting(listener);
        return;
    }
    for (int i = 0; i < ACCEPT_MAX && !is_full(listener->connections); i++) {
        h2o_socket_t *accepted;

        errno = 0;
        accepted = h2o_evloop_socket_accept(sock);
        if (accepted == NULL) {
            /* Without free descriptors the socket stays readable: do not spin on it. */
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                pause_accepting(listener);
            return;
        }
        adopt(listener, accepted);
    }
}

void listener_resume(struct listener *listener)
{
    if (!listener->paused || listener->sock == NULL)
        return;
    if (is_full(listener->connections)) {
        make_room(listener->connections);
        return;
    }
    listener->paused = false;
    h2o_socket_read_start(listener->sock, on_acceptable);
}

static int open_socket(const struct addrinfo *where, int shared)
{
    int on = 1, receive = RECEIVE_BUFFER, send = SEND_BUFFER;
    int fd = socket(where->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &shared, sizeof(shared)) == 0 &&
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive, sizeof(receive)) == 0 &&
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send, sizeof(send)) == 0 &&
        bind(fd, where->ai_addr, where->ai_addrlen) == 0)
        return fd;
    close(fd);
    return -1;
}

enum status listener_open(struct listener *listener, struct connections *connections,
                          h2o_context_t *context, const struct listener_options *options)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC,
                                   .ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
    struct addrinfo *where = NULL;
    char service[8];
    int fd = -1;

    snprintf(service, sizeof(service), "%u", options->port);
    if (getaddrinfo(options->address, service, &hints, &where) == 0) {
        fd = open_socket(where, options->shared);
        freeaddrinfo(where);
    }
    if (fd < 0) {
        LOG(LOG_ERROR, "cannot listen", log_str("address", options->address),
            log_int("port", options->port), log_str("error", strerror(errno)));
        return ST_UNAVAILABLE;
    }
    *listener = (struct listener){
        .next = connections->first_listener, .connections = connections, .fd = fd};
    listener->accept.ctx = context;
    listener->accept.hosts = context->globalconf->hosts;
    listener->accept.ssl_ctx = options->tls;
    connections->first_listener = listener;
    return ST_OK;
}

bool listener_listen(struct listener *listener)
{
    if (listener->connections == NULL || listener->fd < 0)
        return true;
    if (listen(listener->fd, BACKLOG) != 0)
        return false;
    listener->sock = h2o_evloop_socket_create(listener->accept.ctx->loop, listener->fd,
                                              H2O_SOCKET_FLAG_DONT_READ);
    listener->sock->data = listener;
    listener->fd = -1;
    h2o_socket_read_start(listener->sock, on_acceptable);
    return true;
}

void listener_close(struct listener *listener)
{
    if (listener->connections != NULL && listener->fd >= 0)
        close(listener->fd);
    listener->fd = -1;
    if (listener->sock == NULL)
        return;
    h2o_socket_read_stop(listener->sock);
    h2o_socket_close(listener->sock);
    listener->sock = NULL;
}

SSL_CTX *listener_tls(const char *cert_file, const char *key_file)
{
    static const h2o_iovec_t protocols[] = {{(char *)"http/1.1", 8}, {NULL, 0}};
    SSL_CTX *tls = SSL_CTX_new(TLS_server_method());

    must(tls != NULL);
    if (SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION) != 1 ||
        SSL_CTX_use_certificate_chain_file(tls, cert_file) != 1 ||
        SSL_CTX_use_PrivateKey_file(tls, key_file, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(tls) != 1) {
        LOG(LOG_ERROR, "TLS certificate or key cannot be used", log_str("cert", cert_file),
            log_str("key", key_file));
        SSL_CTX_free(tls);
        return NULL;
    }
    SSL_CTX_set_options(tls, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                 SSL_OP_CIPHER_SERVER_PREFERENCE);
    h2o_ssl_register_alpn_protocols(tls, protocols);
    return tls;
}

/* -- lingering close --------------------------------------------------------------------------- */

#define TIMEOUT_MS 2000
#define BYTES_MAX  (4 * 1024 * 1024)

struct lingering_close {
    struct lingering_closes *all;
    h2o_linklist_t link;
    h2o_socket_t *sock;
    h2o_timeout_entry_t soon, timeout;
    size_t dropped;
};

void lingering_close_init(struct lingering_closes *lingering, h2o_loop_t *loop)
{
    *lingering = (struct lingering_closes){.loop = loop};
    h2o_linklist_init_anchor(&lingering->all);
    h2o_timeout_init(loop, &lingering->soon, 0);
    h2o_timeout_init(loop, &lingering->timeout, TIMEOUT_MS);
}

static void finish(struct lingering_close *self)
{
    h2o_timeout_unlink(&self->soon);
    h2o_timeout_unlink(&self->timeout);
    h2o_linklist_unlink(&self->link);
    self->all->n--;
    h2o_socket_close(self->sock);
    free(self);
}

void lingering_close_end_all(struct lingering_closes *lingering)
{
    while (!h2o_linklist_is_empty(&lingering->all))
        finish(H2O_STRUCT_FROM_MEMBER(struct lingering_close, link, lingering->all.next));
}

/* h2o has closed its socket by now; with TLS it has first sent its closing alert to the client. */
static void on_soon(h2o_timeout_entry_t *timer)
{
    struct lingering_close *self = H2O_STRUCT_FROM_MEMBER(struct lingering_close, soon, timer);

    (void)shutdown(h2o_socket_get_fd(self->sock), SHUT_WR);
}

static void on_timeout(h2o_timeout_entry_t *timer)
{
    finish(H2O_STRUCT_FROM_MEMBER(struct lingering_close, timeout, timer));
}

static void on_readable(h2o_socket_t *sock, const char *err)
{
    struct lingering_close *self = sock->data;
    char dropped[16384];
    ssize_t n = recv(h2o_socket_get_fd(sock), dropped, sizeof(dropped), MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0)
        self->dropped += (size_t)n;
    if (n <= 0 || self->dropped > BYTES_MAX)
        finish(self);
}

void lingering_close_begin(struct lingering_closes *lingering, h2o_socket_t *sock)
{
    struct lingering_close *self;
    int fd = lingering->n < LINGERING_CLOSES_MAX ? dup(h2o_socket_get_fd(sock)) : -1;

    if (fd < 0)
        return;
    self = heap_zeroed(1, sizeof(*self));
    self->all = lingering;
    self->sock = h2o_evloop_socket_create(lingering->loop, fd, H2O_SOCKET_FLAG_DONT_READ);
    self->sock->data = self;
    self->soon.cb = on_soon;
    self->timeout.cb = on_timeout;
    h2o_linklist_insert(&lingering->all, &self->link);
    lingering->n++;
    h2o_timeout_link(lingering->loop, &lingering->soon, &self->soon);
    h2o_timeout_link(lingering->loop, &lingering->timeout, &self->timeout);
    h2o_socket_read_start(self->sock, on_readable);
}
