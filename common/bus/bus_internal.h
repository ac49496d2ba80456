/*
 * bus_internal - shared by the files of the bus only.
 *
 * bus.c      opening and closing; waiting, reading and writing on the owner's thread
 * link.c     dialing, adopting, letting go, and the callbacks by which nats.c tells of the link
 * mailbox.c  subscriptions and the messages that come from them
 * request.c  publishing; requests and their replies; requests that block
 *
 * Threads  The owner's; besides, the dialer, which makes one connection and ends, and those of
 *          nats.c, on which its callbacks run. What these write is atomic, or under `link_lock`.
 */
#ifndef COMMON_BUS_BUS_INTERNAL_H
#define COMMON_BUS_BUS_INTERNAL_H

#include <nats/nats.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "common/bus/bus.h"

/* Every subscription is one of these: the owner takes from it or, when it has a handler, a thread
   of nats.c delivers to that. It outlives the connection it is on. */
struct bus_mailbox {
    struct bus *bus;
    struct bus_mailbox *next;
    char *subject;
    char *group;            /* NULL: each subscriber gets every message */
    natsMsgHandler handler; /* NULL: the owner takes */
    bus_notice_fn on_notice;
    void *closure;
    bool stopped;
    natsSubscription *nats; /* NULL while there is no connection */
    sem_t silent;           /* posted once the handler will not be called any more */
};

struct bus_reply_slot;

struct bus_inbox {
    char prefix[64]; /* of a reply subject; the slot's number follows */
    bus_reply_fn on_reply;
    bus_awaited_fn is_awaited;
    void *closure;
    uint64_t n_opened;
    struct bus_reply_slot *free;
    struct bus_reply_slot **silent; /* those that still lack their reply */
    size_t n_silent, capacity;
    int64_t sweep_due_us;
};

/* The reply that bus_call() waits for. */
struct bus_call {
    uint64_t handle; /* of the call in flight; a reply to another one is late and dropped */
    bool has_reply;
    struct bus_message *reply; /* NULL with has_reply: no responders */
};

struct bus {
    natsOptions *options;
    char *inbox_prefix;
    void (*on_link)(void *closure, bool up);
    void *on_link_closure;

    natsConnection *nats; /* the owner's; NULL until the first connection is made */
    struct bus_mailbox *mailboxes;
    bool blocked; /* the socket did not take all at the last flush */

    int wake_fd;
    atomic_int socket;        /* -1 while down */
    atomic_uint n_changes;    /* of `socket` */
    unsigned n_changes_seen;  /* by the owner */
    atomic_bool write_wanted; /* nats.c holds bytes for the socket */
    atomic_bool adopted;      /* `nats` is set and its subscriptions are made */
    atomic_bool ended;        /* nats.c gave this connection up for good */
    atomic_bool closing;      /* because we wanted it */
    atomic_bool is_denied;    /* by the last attempt to connect */
    atomic_uint_least64_t violations, unpublished; /* all of them; those of publishing */
    sem_t closed; /* posted by the last callback that a connection makes */

    pthread_mutex_t link_lock; /* keeps on_link() calls in order */
    bool link_told;

    pthread_t dialer;
    bool dialing;
    int stop_dialing_fd;
    _Atomic(natsConnection *) dialed; /* for the owner to adopt */

    struct bus_inbox inbox;
    struct bus_call call;
};

/* True on the owner's thread while it is inside nats.c: it flushes at the end of its step anyway,
   so a wish to write needs no wake-up then. */
extern _Thread_local bool bus_owner_is_inside;

enum { RECONNECT_WAIT_MS = 100, RECONNECT_JITTER_MS = 100 };

/* link.c */
natsStatus bus_set_callbacks(struct bus *bus, natsOptions *options);
void bus_dial(struct bus *bus);
void bus_end_dialing(struct bus *bus); /* waits for the dialer's thread */
/* Closes `nats`; on return no callback of it runs or will run any more. */
void bus_let_go(struct bus *bus);
void bus_link_step(struct bus *bus); /* adopts a new connection, closes one that ended */
/* Whether it is of use to call nats.c: while the link is down it may hold its lock for as long as
   an attempt to connect takes, so that even a refusal would block. */
bool bus_can_call(const struct bus *bus);

/* mailbox.c */
struct bus_mailbox *bus_subscribe(struct bus *bus, const char *subject, const char *group,
                                  natsMsgHandler handler, bus_notice_fn on_notice, void *closure);
void bus_mailbox_attach(struct bus_mailbox *mailbox); /* to the present connection */
void bus_mailbox_detach(struct bus_mailbox *mailbox); /* from one that is closed */
void bus_mailbox_free(struct bus_mailbox *mailbox);

void bus_discard(natsMsg *msg); /* frees it, on an owner's thread some time later */
void bus_defer_frees(void);     /* on an owner's thread, before its first bus_discard() */
void bus_free_deferred(void);   /* frees what this thread has discarded */

/* request.c; all on the owner's thread */
void bus_inbox_deliver(struct bus *bus); /* the replies that nats.c has read */
void bus_inbox_sweep(struct bus *bus);   /* closes slots of requests given up */
void bus_inbox_close(struct bus *bus);   /* all slots: their connection is closed */

/* A message is a natsMsg under another name: nothing is added to it. */
static inline struct bus_message *message_of(natsMsg *msg)
{
    return (struct bus_message *)msg;
}

static inline natsMsg *nats_of(const struct bus_message *message)
{
    return (natsMsg *)message;
}

#endif
