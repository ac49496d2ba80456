/*
 * link - one connection of nats.c: its socket, what is written to it, and what nats.c reports of it.
 *        Private to common/bus.
 *
 * What     nats.c never reconnects by itself: a link that is lost has ended, and is closed and
 *          released; then another connection can be made with it.
 * Owns     The connection, until link_release().
 * Threads  The owner's. nats.c calls back on threads of its own, often under a lock of its own: the
 *          atomics are set there, and the events run there.
 * Fails    Publishing fails at once while the link is down.
 */
#ifndef COMMON_BUS_LINK_H
#define COMMON_BUS_LINK_H

#include <nats/nats.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "common/base/status.h"
#include "common/bus/bundle.h"

struct bus_link;

struct link_events {
    /* It has a socket now, or none any more. nats.c closes a lost socket afterwards. */
    void (*on_socket)(void *closure, struct bus_link *link);
    /* The server has denied a permission, for publishing or for something else. */
    void (*on_denied)(void *closure, bool of_publish);
};

struct bus_link {
    int number; /* 0 or 1 */
    int wake_fd;
    const struct link_events *events;
    void *closure;
    natsConnection *nats;     /* NULL: it is free */
    unsigned n_released;      /* connections before this one */
    pthread_mutex_t lock;     /* while it is held, `socket` stays open */
    atomic_int socket;        /* -1 while down */
    atomic_bool write_wanted; /* nats.c holds bytes for the socket */
    atomic_bool is_lame;      /* its server will close it, and accepts no new ones */
    atomic_bool ended;        /* it is lost */
    atomic_bool closing;      /* we are closing it */
    atomic_bool is_closed;    /* set by the thread that closed it */
    int64_t payload_max;      /* of its server */
    bool blocked;             /* the socket did not take all at the last flush */
    sem_t closed;             /* posted by the last callback that a connection makes */
};

enum { BUS_LINKS = 2 }; /* at most: the one in use, and the one before or after it */

/* `wake_fd` is written to when there is something for the owner to do. */
void link_init(struct bus_link *link, int number, int wake_fd, const struct link_events *events,
               void *closure);
void link_destroy(struct bus_link *link);
/* On the dialer's thread; may take a second, or longer with TLS. */
natsStatus link_connect(struct bus_link *link, natsOptions *options);
/* Closes it; on return none of its callbacks runs or will run. May take a while. Any thread, but no
   other may publish over the link in that time. */
void link_close(struct bus_link *link);
/* Releases what remains of a closed link. */
void link_release(struct bus_link *link);
/* Writes the rest, shuts down our side and waits, until `until_us` at most, for the server to read
   everything and close its side. */
void link_say_goodbye(struct bus_link *link, int64_t until_us);

bool link_can_call(const struct bus_link *link); /* NULL: no */
bool link_has_room(const struct bus_link *link); /* a message can be published now; NULL: no */
void link_read(struct bus_link *link);           /* from its socket */
void link_push(struct bus_link *link);           /* writes what the socket takes now */

/* `reply_to` may be NULL. The first checks whether there is room; the second publishes bytes that
   need no headers. */
enum status link_publish(const struct bus_link *link, const char *subject, const char *reply_to,
                         const struct bus_header *headers, size_t n_headers, struct str body);
natsStatus link_publish_bytes(const struct bus_link *link, const char *subject,
                              const char *reply_to, struct str bytes);
enum status link_status_of(natsStatus s);

/* How many messages wait in a subscription; NULL: none. */
size_t link_queued(natsSubscription *nats);

#endif
