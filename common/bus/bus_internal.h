/*
 * bus_internal - shared by the files of the bus only.
 *
 * bus.c      opening and closing; waiting, reading and writing on the owner's thread
 * link.c     dialing, adopting, letting go, and the callbacks by which nats.c tells of a link
 * move.c     to another server, before the present one closes its clients
 * mailbox.c  subscriptions, and the messages that come from them, alone or in bundles
 * replies.c  answers to these
 * request.c  publishing; requests and their replies; requests that block
 * bundle.c   the form of a bundle
 * bundles.c  requests in bundles and the replies that come
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

#include "common/bus/bundle.h"
#include "common/bus/bus.h"

/* One connection of nats.c. */
struct bus_link {
    struct bus *bus;
    natsConnection *nats;     /* NULL: it is free */
    atomic_int socket;        /* -1 while down; open while `link_lock` of the bus is held */
    atomic_bool write_wanted; /* nats.c holds bytes for the socket */
    atomic_bool is_lame;      /* its server will close it, and takes no new ones */
    atomic_bool ended;        /* nats.c gave this connection up for good */
    atomic_bool closing;      /* because we wanted it */
    atomic_bool is_closed;    /* told by the thread that closed it */
    bool blocked;             /* the socket did not take all at the last flush */
    sem_t closed;             /* posted by the last callback that a connection makes */
};

enum { BUS_LINKS = 2 }; /* at most: that in use, and the one before or the next one */

/* On one link. NULL while there is none. */
struct bus_subscriptions {
    natsSubscription *alone, *bundles;
};

/* Every subscription is one of these: the owner takes from it or, when it has a handler, a thread
   of nats.c delivers to that. It outlives the connection it is on. */
struct bus_mailbox {
    struct bus *bus;
    struct bus_mailbox *next;
    char *subject;
    char *bundles;          /* subject of its bundles; NULL: it takes none */
    char *group;            /* NULL: each subscriber gets every message */
    natsMsgHandler handler; /* NULL: the owner takes */
    bus_notice_fn on_notice;
    void *closure;
    bool stopped;
    struct bus_subscriptions on[BUS_LINKS];
    struct bus_message *
        *opened; /* of the latest bundle; those from next_opened on are to be taken */
    size_t next_opened, opened_end;
    bool single_next; /* what came alone has its turn before the next bundle */
    sem_t silent;     /* posted once the handler will not be called any more, for each link */
};

/* A message that came alone or is to leave, or one of a bundle. */
struct bus_message {
    natsMsg *nats;             /* NULL: it came in a bundle */
    struct bus_bundle *bundle; /* NULL: it came alone */
    struct bus_link *via;      /* by which it came to a mailbox, and its reply leaves; NULL: any */
    struct bundle_item item;
    char *expanded; /* the item's body, where it came compressed; else NULL */
};

/* A bundle that came, and what is to be answered to it at the end of the step. */
struct bus_bundle {
    natsMsg *nats;
    struct bus_link *via; /* as of its messages */
    atomic_size_t n_used; /* messages not freed yet, and one while replies wait in it */
    bool is_answering;    /* in bus->answering */
    struct bus_bundle *next_answering;
    struct bundle_writer replies;
    struct bus_message messages[];
};

/* Where a bundle's replies come; see bundles.c. */
struct bus_bundle_slot {
    struct bus_bundle_route *route;
    struct bus_bundle_slot *next; /* that is free */
    natsSubscription *nats;
    const struct bus_link *on;
    char *reply_to;
    struct bundle_writer sent;
    unsigned link;   /* bus->n_changes when it was sent */
    unsigned n_open; /* requests that lack their reply */
    uint64_t handles[BUNDLE_ITEMS_MAX];
};

/* What is requested of a subject in bundles. */
struct bus_bundle_route {
    struct bus_bundle_route *next;
    char *subject, *bundles;
    unsigned link;  /* bus->n_changes, for which this holds: */
    bool is_proven; /* a bundle was delivered, or would have been had there been a mailbox */
    bool is_denied; /* the server does not let this user send bundles there */
    struct bus_bundle_slot *free;
    struct bus_bundle_slot *left; /* as inbox.left */
    struct bundle_writer waiting; /* for the end of the step */
    uint64_t handles[BUNDLE_ITEMS_MAX];
};

struct bus_reply_slot;

struct bus_inbox {
    char prefix[64]; /* of a reply subject; the slot's number follows */
    bus_reply_fn on_reply;
    bus_awaited_fn is_awaited;
    void *closure;
    uint64_t n_opened;
    struct bus_reply_slot *free;
    struct bus_reply_slot *left;    /* of a link that was left, with which they are closed */
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

/* What the server said when it refused what was published, and over which link. */
struct bus_denial {
    unsigned link;
    char text[160];
};

enum { BUS_DENIALS_MAX = 16 };

/* From one server to another; see move.c. */
struct bus_move {
    struct bus_link *left; /* NULL: none */
    int socket;            /* of `left`, as it is watched; -1: it is not */
    uint32_t events;       /* for which it is watched */
    int64_t drain_us, close_us, end_us;
    bool draining, closing;
    pthread_t closer;
};

struct bus {
    natsOptions *options;
    char *inbox_prefix;
    void (*on_link)(void *closure, bool up);
    void *on_link_closure;

    struct bus_link links[BUS_LINKS];
    _Atomic(struct bus_link *) link; /* in use, with its subscriptions; NULL until the first one is
                                        made. The owner sets it. */
    struct bus_move move;
    struct bus_mailbox *mailboxes;

    int wake_fd;
    int changed_fd;          /* readable when wake_fd is, or the link that was left has something */
    atomic_uint n_changes;   /* of the socket of the link in use */
    unsigned n_changes_seen; /* by the owner */
    atomic_bool closing;
    atomic_bool is_denied;                         /* by the last attempt to connect */
    atomic_uint_least64_t violations, unpublished; /* all of them; those of publishing */

    pthread_mutex_t link_lock; /* keeps on_link() calls in order, and the links' sockets open */
    bool link_told;

    pthread_t dialer;
    bool dialing;
    int stop_dialing_fd;
    struct bus_link *dial_to;
    const struct bus_link *dial_from;  /* lame; NULL: there is no link */
    _Atomic(struct bus_link *) dialed; /* for the owner to adopt */
    atomic_bool has_given_up;          /* the dialer: the link is not lame any more */

    struct bus_inbox inbox;
    struct bus_call call;

    struct bus_bundle_route *routes;
    struct bus_bundle_slot **bundle_slots; /* those that lack replies */
    size_t n_bundle_slots, bundle_slots_capacity;
    struct bundle_writer unsent;  /* the handles alone */
    struct bus_bundle *answering; /* bundles with replies to send */
    atomic_uint_least64_t n_lost_replies;
    struct bus_denial denials[BUS_DENIALS_MAX]; /* not heeded yet; under `link_lock` */
    size_t n_denials;
    uint64_t n_denials_seen; /* of `unpublished`, by the owner */
};

/* True on the owner's thread while it is inside nats.c: it flushes at the end of its step anyway,
   so a wish to write needs no wake-up then. */
extern _Thread_local bool bus_owner_is_inside;

enum { RECONNECT_WAIT_MS = 100, RECONNECT_JITTER_MS = 100 };

/* bus.c */
void bus_read(struct bus *bus, struct bus_link *link); /* what its socket has, and delivers it */

/* link.c */
void bus_dial(struct bus *bus);
void bus_end_dialing(struct bus *bus); /* waits for the dialer's thread */
/* The link in use is another one: it has the subscriptions of all mailboxes. */
void bus_adopt(struct bus *bus, struct bus_link *link);
/* Closes it; on return no callback of it runs or will run any more. It may take a while; any thread,
   and no other one has to do with it in that time. */
void bus_link_close(struct bus_link *link);
/* What is left of a link that was closed: now it is free. */
void bus_link_release(struct bus_link *link);
/* Ends our side, and waits until the server, having read all, ends its own; for so long at most. */
void bus_say_goodbye(const struct bus_link *link, int64_t until_us);
void bus_link_step(struct bus *bus); /* adopts the first connection, closes one that ended */
/* Whether it is of use to call nats.c: while a link is down it may hold its lock for as long as
   an attempt to connect takes, so that even a refusal would block. */
bool bus_link_can_call(const struct bus_link *link); /* NULL: no */
bool bus_can_call(const struct bus *bus);            /* by the link in use */
/* The link by which a reply leaves. */
struct bus_link *bus_link_for_reply(struct bus *bus, struct bus_link *via);
void bus_link_push(struct bus_link *link); /* writes what the socket takes now */

/* move.c; all on the owner's thread */
void bus_move_step(struct bus *bus);  /* dials where the link in use is lame; ends the one left */
void bus_move_adopt(struct bus *bus); /* the link that was dialed is in use from now on */
void bus_move_read(struct bus *bus);  /* what came by the link left */
void bus_move_push(struct bus *bus);  /* what it holds; the rest when its socket takes it */
void bus_move_abort(
    struct bus *bus); /* nothing more is done by these, and no thread of theirs runs */

/* mailbox.c */
struct bus_mailbox *bus_subscribe(struct bus *bus, const char *subject, const char *group,
                                  natsMsgHandler handler, bus_notice_fn on_notice, void *closure);
void bus_mailbox_attach(struct bus_mailbox *mailbox, const struct bus_link *link);
void bus_mailbox_detach(struct bus_mailbox *mailbox, const struct bus_link *link);
void bus_mailbox_drain(struct bus_mailbox *mailbox, const struct bus_link *link);
/* Nothing waits there, and nothing comes any more. */
bool bus_mailbox_is_drained(const struct bus_mailbox *mailbox, const struct bus_link *link);
void bus_mailbox_free(struct bus_mailbox *mailbox);

size_t bus_queued(natsSubscription *nats);    /* how many messages wait there; NULL: none */
struct bus_message *message_of(natsMsg *msg); /* takes it; NULL gives NULL */
/* Takes a bundle and makes messages of it, BUNDLE_ITEMS_MAX at most; 0: it is malformed, and freed. */
size_t bus_bundle_open(natsMsg *msg, struct bus_link *via, bool may_be_compressed,
                       struct bus_message **out);
/* The body of a message of a bundle is as it was before it was compressed. False: it cannot be, or has more
   than what is left for the bundle. */
bool bus_message_expand(struct bus_message *message, size_t *left);
void bus_bundle_release(struct bus_bundle *bundle); /* one less uses it */
bool bus_wipes(void);                               /* see bus_wipe_what_is_freed() */
void bus_discard(natsMsg *msg); /* frees it, on an owner's thread some time later */
void bus_defer_frees(void);     /* on an owner's thread, before its first bus_discard() */
void bus_free_deferred(void);   /* frees what this thread has discarded */

/* replies.c */
/* Who asks takes compressed bodies in reply where the last part of the reply subject begins with the mark.
   Programs of a version that does not know of them have only digits there. */
#define BUS_COMPRESSED_MARK 'z'
/* What was answered in bundles, at the end of a step; on the owner's thread. */
void bus_replies_send(struct bus *bus);

/* bundles.c; all on the owner's thread */
void bus_bundles_send(struct bus *bus);           /* at the end of a step */
void bus_bundles_deliver(struct bus *bus);        /* the replies that nats.c has read */
void bus_bundles_deliver_unsent(struct bus *bus); /* that nothing left this process */
void bus_bundles_heed_denials(struct bus *bus);
void bus_bundles_sweep(struct bus *bus); /* closes slots of requests given up */
void bus_bundles_leave(struct bus *bus); /* free slots are of no use to the link now in use */
void bus_bundles_close(struct bus *bus, const struct bus_link *link); /* all slots of one closed */
bool bus_bundles_lack_reply(const struct bus *bus, const struct bus_link *link);
void bus_bundles_release(struct bus *bus);
natsStatus bus_bundle_publish(const struct bus_link *link, const char *subject,
                              const char *reply_to, struct str bytes);

/* request.c; all on the owner's thread */
enum status bus_status_of(natsStatus s);
bool bus_has_room(const struct bus_link *link); /* it can be published now; NULL: no */
enum status bus_publish_via(struct bus_link *link, const char *subject, const char *reply_to,
                            const struct bus_header *headers, size_t n_headers, struct str body);
void bus_inbox_deliver(struct bus *bus); /* the replies that nats.c has read */
void bus_inbox_sweep(struct bus *bus);   /* closes slots of requests given up */
void bus_inbox_leave(struct bus *bus);   /* as bus_bundles_leave() */
void bus_inbox_close(struct bus *bus, const struct bus_link *link);
bool bus_inbox_lacks_reply(const struct bus *bus, const struct bus_link *link);
/* An array of pointers that has `n`, with room for one more. */
void *bus_room_for_one(void *at, size_t n, size_t *capacity);

#endif
