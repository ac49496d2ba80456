#include "common/http/bus_watch.h"

#include <fcntl.h>

#include "common/base/log.h"
#include "common/bus/bus.h"

static void on_readable(h2o_socket_t *sock, const char *err)
{
    const struct bus_watch *watch = sock->data;

    bus_process(watch->bus);
}

/* Nothing to do here: the loop flushes after each wait. */
static void on_writable(h2o_socket_t *sock, const char *err)
{
}

/* NULL: there is no such descriptor, or too many files are open. */
static h2o_socket_t *add(struct bus_watch *watch, int fd, h2o_socket_cb on_event)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    h2o_socket_t *sock;

    if (copy < 0)
        return NULL;
    sock = h2o_evloop_socket_create(watch->loop, copy, H2O_SOCKET_FLAG_DONT_READ);
    sock->data = watch;
    h2o_socket_read_start(sock, on_event);
    return sock;
}

static void add_link(struct bus_watch *watch)
{
    watch->link = add(watch, bus_socket(watch->bus), on_readable);
}

void bus_watch_follow(struct bus_watch *watch)
{
    if (!bus_changed(watch->bus))
        return;
    if (watch->link != NULL)
        h2o_socket_close(watch->link);
    add_link(watch);
}

static void on_changed(h2o_socket_t *sock, const char *err)
{
    bus_watch_follow(sock->data);
}

bool bus_watch_open(struct bus_watch *watch, struct bus *bus, h2o_loop_t *loop)
{
    *watch = (struct bus_watch){.bus = bus, .loop = loop};
    watch->changed = add(watch, bus_changed_fd(bus), on_changed);
    if (watch->changed == NULL)
        LOG(LOG_ERROR, "too many files are open to connect to the bus");
    return watch->changed != NULL;
}

void bus_watch_retry(struct bus_watch *watch)
{
    if (watch->link == NULL)
        add_link(watch);
}

void bus_watch_flush(struct bus_watch *watch)
{
    h2o_socket_t *link = watch->link;

    if (!bus_flush(watch->bus) && link != NULL && !h2o_socket_is_writing(link))
        h2o_socket_notify_write(link, on_writable);
}
