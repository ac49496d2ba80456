#include "common/edge/listener.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/edge/edge_meter.h"

#define BACKLOG     4096
#define ACCEPT_MOST 64 /* a turn */
/* h2o reads a socket until it is empty: this bounds what one connection can put into memory. */
#define RECEIVE_BUFFER (128 * 1024)

struct client {
    h2o_linklist_t link;
    struct clients *clients;
    h2o_socket_t *sock;
};

void clients_init(struct clients *clients, size_t most)
{
    *clients = (struct clients){.most = most};
    h2o_linklist_init_anchor(&clients->all);
}

void clients_shut_down(struct clients *clients)
{
    for (h2o_linklist_t *node = clients->all.next; node != &clients->all; node = node->next) {
        struct client *client = H2O_STRUCT_FROM_MEMBER(struct client, link, node);

        (void)shutdown(h2o_socket_get_fd(client->sock), SHUT_RDWR);
    }
}

static void on_closed(void *data)
{
    struct client *client = data;
    struct clients *clients = client->clients;

    h2o_linklist_unlink(&client->link);
    free(client);
    clients->n--;
    metric_add(edge_meter.connections, -1);
    for (struct listener *l = clients->first_listener; l != NULL; l = l->next)
        listener_resume(l);
}

static void adopt(struct listener *listener, h2o_socket_t *sock)
{
    struct client *client = calloc(1, sizeof(*client));

    must(client != NULL);
    client->clients = listener->clients;
    client->sock = sock;
    h2o_linklist_insert(&listener->clients->all, &client->link);
    listener->clients->n++;
    metric_add(edge_meter.connections, 1);
    sock->on_close.cb = on_closed;
    sock->on_close.data = client;
    h2o_accept(&listener->accept, sock);
}

static void pause_accepting(struct listener *listener)
{
    listener->paused = true;
    h2o_socket_read_stop(listener->sock);
}

static void on_acceptable(h2o_socket_t *sock, const char *err)
{
    struct listener *listener = sock->data;

    for (int i = 0; i < ACCEPT_MOST; i++) {
        h2o_socket_t *accepted;

        if (listener->clients->n >= listener->clients->most) {
            pause_accepting(listener);
            return;
        }
        errno = 0;
        accepted = h2o_evloop_socket_accept(sock);
        if (accepted == NULL) {
            /* Out of descriptors the socket stays readable: do not spin on it. */
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                pause_accepting(listener);
            return;
        }
        adopt(listener, accepted);
    }
}

void listener_resume(struct listener *listener)
{
    if (!listener->paused || listener->sock == NULL ||
        listener->clients->n >= listener->clients->most)
        return;
    listener->paused = false;
    h2o_socket_read_start(listener->sock, on_acceptable);
}

static int open_socket(const struct addrinfo *where, int shared)
{
    int on = 1, buffer = RECEIVE_BUFFER;
    int fd = socket(where->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &shared, sizeof(shared)) == 0 &&
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer)) == 0 &&
        bind(fd, where->ai_addr, where->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    close(fd);
    return -1;
}

enum status listener_open(struct listener *listener, struct clients *clients,
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
    *listener = (struct listener){.next = clients->first_listener, .clients = clients};
    listener->accept.ctx = context;
    listener->accept.hosts = context->globalconf->hosts;
    listener->accept.ssl_ctx = options->tls;
    listener->sock = h2o_evloop_socket_create(context->loop, fd, H2O_SOCKET_FLAG_DONT_READ);
    listener->sock->data = listener;
    clients->first_listener = listener;
    h2o_socket_read_start(listener->sock, on_acceptable);
    return ST_OK;
}

void listener_close(struct listener *listener)
{
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
