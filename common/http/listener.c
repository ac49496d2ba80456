#include "common/http/listener.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/http/bound_socket.h"

#define BACKLOG    4096
#define ACCEPT_MAX 64 /* in one step of the loop */
/* h2o reads a socket until it is empty: this limits how much one connection can put into memory. */
#define RECEIVE_BUFFER (128 * 1024)
/* Limits how much of an unread response the kernel holds, which would otherwise grow to 4 MiB. */
#define SEND_BUFFER (256 * 1024)

/* -- accepting ------------------------------------------------------------------------------- */

static void pause_accepting(struct listener *listener)
{
    listener->paused = true;
    h2o_socket_read_stop(listener->sock);
}

/* False: no connection waits, or it cannot be accepted. */
static bool accept_one(struct listener *listener)
{
    h2o_socket_t *accepted;

    errno = 0;
    accepted = h2o_evloop_socket_accept(listener->sock);
    if (accepted == NULL) {
        /* Without free descriptors the socket stays readable: do not spin on it. */
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            pause_accepting(listener);
        return false;
    }
    if (listener->certificate != NULL)
        tls_certificate_use(listener->certificate, &listener->accept.ssl_ctx);
    connections_add(listener->connections, &listener->accept, accepted);
    return true;
}

static void on_acceptable(h2o_socket_t *sock, const char *err)
{
    struct listener *listener = sock->data;

    if (connections_are_full(listener->connections)) {
        connections_make_room(listener->connections);
        pause_accepting(listener);
        return;
    }
    for (int i = 0; i < ACCEPT_MAX && !connections_are_full(listener->connections); i++)
        if (!accept_one(listener))
            return;
}

void listener_resume(struct listener *listener)
{
    if (!listener->paused || listener->sock == NULL)
        return;
    if (connections_are_full(listener->connections)) {
        connections_make_room(listener->connections);
        return;
    }
    listener->paused = false;
    h2o_socket_read_start(listener->sock, on_acceptable);
}

/* -- the socket ------------------------------------------------------------------------------ */

static bool set_buffers(int fd)
{
    const int receive = RECEIVE_BUFFER, send = SEND_BUFFER;

    return setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive, sizeof(receive)) == 0 &&
           setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send, sizeof(send)) == 0;
}

enum status listener_open(struct listener *listener, struct connections *connections,
                          h2o_context_t *context, const struct listener_options *options)
{
    const int fd = bound_socket(options->address, options->port, options->shared);

    if (fd < 0) {
        LOG(LOG_ERROR, "cannot listen", log_str("address", options->address),
            log_int("port", options->port), log_str("error", strerror(errno)));
        return ST_UNAVAILABLE;
    }
    must(set_buffers(fd));
    *listener = (struct listener){
        .connections = connections, .certificate = options->certificate, .fd = fd};
    listener->accept.ctx = context;
    listener->accept.hosts = context->globalconf->hosts;
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
    if (listener->sock != NULL) {
        /* The kernel would reset the connections that still wait in its queue. */
        while (!connections_are_full(listener->connections) && accept_one(listener))
            ;
        h2o_socket_read_stop(listener->sock);
        h2o_socket_close(listener->sock);
        listener->sock = NULL;
    }
    SSL_CTX_free(listener->accept.ssl_ctx);
    listener->accept.ssl_ctx = NULL;
}
