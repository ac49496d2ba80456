#include "common/edge/linger.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/log.h"

#define PATIENCE_MS 2000
#define BYTES_MOST  (4 * 1024 * 1024)

struct lingerer {
    struct lingerers *all;
    h2o_linklist_t link;
    h2o_socket_t *sock;
    h2o_timeout_entry_t soon, patience;
    size_t dropped;
};

void linger_init(struct lingerers *lingerers, h2o_loop_t *loop)
{
    *lingerers = (struct lingerers){.loop = loop};
    h2o_linklist_init_anchor(&lingerers->all);
    h2o_timeout_init(loop, &lingerers->soon, 0);
    h2o_timeout_init(loop, &lingerers->patience, PATIENCE_MS);
}

static void finish(struct lingerer *self)
{
    h2o_timeout_unlink(&self->soon);
    h2o_timeout_unlink(&self->patience);
    h2o_linklist_unlink(&self->link);
    self->all->n--;
    h2o_socket_close(self->sock);
    free(self);
}

void linger_close_all(struct lingerers *lingerers)
{
    while (!h2o_linklist_is_empty(&lingerers->all))
        finish(H2O_STRUCT_FROM_MEMBER(struct lingerer, link, lingerers->all.next));
}

/* h2o has closed its socket by now; with TLS it has said so to the client first. */
static void on_soon(h2o_timeout_entry_t *timer)
{
    struct lingerer *self = H2O_STRUCT_FROM_MEMBER(struct lingerer, soon, timer);

    (void)shutdown(h2o_socket_get_fd(self->sock), SHUT_WR);
}

static void on_patience(h2o_timeout_entry_t *timer)
{
    finish(H2O_STRUCT_FROM_MEMBER(struct lingerer, patience, timer));
}

static void on_readable(h2o_socket_t *sock, const char *err)
{
    struct lingerer *self = sock->data;
    char dropped[16384];
    ssize_t n = recv(h2o_socket_get_fd(sock), dropped, sizeof(dropped), MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0)
        self->dropped += (size_t)n;
    if (n <= 0 || self->dropped > BYTES_MOST)
        finish(self);
}

void linger(struct lingerers *lingerers, h2o_socket_t *sock)
{
    struct lingerer *self;
    int fd = lingerers->n < LINGER_MOST ? dup(h2o_socket_get_fd(sock)) : -1;

    if (fd < 0)
        return;
    self = calloc(1, sizeof(*self));
    must(self != NULL);
    self->all = lingerers;
    self->sock = h2o_evloop_socket_create(lingerers->loop, fd, H2O_SOCKET_FLAG_DONT_READ);
    self->sock->data = self;
    self->soon.cb = on_soon;
    self->patience.cb = on_patience;
    h2o_linklist_insert(&lingerers->all, &self->link);
    lingerers->n++;
    h2o_timeout_link(lingerers->loop, &lingerers->soon, &self->soon);
    h2o_timeout_link(lingerers->loop, &lingerers->patience, &self->patience);
    h2o_socket_read_start(self->sock, on_readable);
}
