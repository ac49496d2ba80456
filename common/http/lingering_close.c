#include "common/http/lingering_close.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/arena.h"

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
