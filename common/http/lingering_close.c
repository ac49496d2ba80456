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
    struct list link;
    h2o_socket_t *sock;
    struct timer soon, timeout;
    size_t dropped;
};

void lingering_close_init(struct lingering_closes *lingering, struct timers *timers)
{
    *lingering = (struct lingering_closes){.timers = timers};
    list_init(&lingering->all);
}

static void finish(struct lingering_close *self)
{
    timer_stop(&self->soon);
    timer_stop(&self->timeout);
    list_remove(&self->link);
    self->all->n--;
    h2o_socket_close(self->sock);
    free(self);
}

void lingering_close_end_all(struct lingering_closes *lingering)
{
    struct lingering_close *self;

    LIST_EACH(self, &lingering->all, link)
        finish(self);
}

/* h2o has closed its socket by now; with TLS it has first sent its closing alert to the client. */
static void on_soon(struct timer *timer)
{
    struct lingering_close *self = H2O_STRUCT_FROM_MEMBER(struct lingering_close, soon, timer);

    (void)shutdown(h2o_socket_get_fd(self->sock), SHUT_WR);
}

static void on_timeout(struct timer *timer)
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
    self->sock = h2o_evloop_socket_create(lingering->timers->loop, fd, H2O_SOCKET_FLAG_DONT_READ);
    self->sock->data = self;
    list_add(&lingering->all, &self->link);
    lingering->n++;
    timer_start(lingering->timers, &self->soon, 0, on_soon);
    timer_start(lingering->timers, &self->timeout, TIMEOUT_MS, on_timeout);
    h2o_socket_read_start(self->sock, on_readable);
}
