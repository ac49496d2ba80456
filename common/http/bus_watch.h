/*
 * bus_watch - a bus connection on h2o's event loop: reads it when its socket is readable, writes when
 *             it is writable.
 *
 * What     nats.c owns the sockets, and the one of the link is another after each reconnect and each
 *          move; h2o closes the descriptor that it is given. So h2o watches duplicates.
 * Owns     The duplicates, as long as the loop lives.
 * Threads  The loop's.
 */
#ifndef COMMON_HTTP_BUS_WATCH_H
#define COMMON_HTTP_BUS_WATCH_H

#include <h2o.h>
#include <stdbool.h>

#include "common/base/status.h"

struct bus;

struct bus_watch {
    struct bus *bus;
    h2o_loop_t *loop;
    h2o_socket_t *link; /* NULL: the link is down, or too many files were open */
    h2o_socket_t *changed;
};

/* False (logged): too many files are open. */
MUST_CHECK bool bus_watch_open(struct bus_watch *watch, struct bus *bus, h2o_loop_t *loop);
/* Does now what the link's changes require: bus_changed(). Requests that have not left are answered. */
void bus_watch_follow(struct bus_watch *watch);
/* Call from time to time: watches the link if too many files were open before. */
void bus_watch_retry(struct bus_watch *watch);
/* Call in each step of the loop: bus_flush(). */
void bus_watch_flush(struct bus_watch *watch);

#endif
