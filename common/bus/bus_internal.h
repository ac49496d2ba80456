/*
 * bus_internal - shared by the files of the bus only.
 *
 * bus.c      opening and closing; waiting, reading and writing on the owner's thread
 * bus_url.c  reading NATS_URL
 * options.c  what nats.c is told for a connection
 * dial.c     making a connection: lookups and attempts
 * link.c     adopting and closing a link, and the callbacks with which nats.c reports on it
 * move.c     moving to another server, before the present one closes its connections
 * mailbox.c  subscriptions, and the messages that come from them, alone or in bundles
 * replies.c  replies to those messages
 * request.c  publishing; requests and their replies; requests that block
 * bundle.c   the format of a bundle
 * bundles.c  requests in bundles, and the replies to them
 *
 * Threads  The owner's; also the dialer, which makes one connection and ends, and those of nats.c,
 *          on which its callbacks run. What the latter two write is atomic or under `link_lock`.
 */
#ifndef COMMON_BUS_BUS_INTERNAL_H
#define COMMON_BUS_BUS_INTERNAL_H

#include <nats/nats.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "common/base/ip.h"
#include "common/bus/bundle.h"
#include "common/bus/bus.h"
#include "common/bus/bus_url.h"

/* One connection of nats.c. */
struct bus_link {
    struct bus *bus;
    natsConnection *nats;     /* NULL: it is free */
    atomic_int socket;        /* -1 while down; open while `link_lock` of the bus is held */
    atomic_bool write_wanted; /* nats.c holds bytes for the socket */
    atomic_bool is_lame;      /* its server will close it, and accepts no new ones */
    atomic_bool ended;        /* it is lost */
    atomic_bool closing;      /* we are closing it */
    atomic_bool is_closed;    /* set by the thread that closed it */
    int64_t payload_max;      /* of its server */
    bool blocked;             /* the socket did not take all at the last flush */
    sem_t closed;             /* posted by the last callback that a connection makes */
};

enum { BUS_WHERE = ADDRESS_TEXT + sizeof("[]:65535") }; /* an address and a port */

enum { BUS_CONNECT_MS = 1000 }; /* how long an attempt may take */

enum { BUS_LINKS = 2 }; /* at most: the one in use, and the one before or after it */

/* A mailbox's subscriptions on one link; NULL: none. */
struct bus_subscriptions {
    natsSubscription *alone, *bundles;
};

/* Every subscription is one of these. The owner takes messages from it or, if it has a handler, a
   thread of nats.c passes them to that. It outlives the connection that it is on. */
struct bus_mailbox {
    struct bus *bus;
    struct bus_mailbox *next;
    char *subject;
    char *bundles;          /* the subject of its bundles; NULL: it takes none */
    char *group;            /* NULL: each subscriber gets every message */
    natsMsgHandler handler; /* NULL: the owner takes the messages */
    bus_notice_fn on_notice;
    void *closure;
    bool stopped;
    struct bus_subscriptions on[BUS_LINKS];
    struct bus_message *
        *opened; /* of the latest bundle; those from next_opened on have not been taken */
    size_t next_opened, opened_end;
    bool single_next; /* a single message has its turn before the next bundle */
    sem_t silent;     /* posted, for each link, once the handler will not be called any more */
};

/* A message that came alone, one that came in a bundle, or one to send. */
struct bus_message {
    natsMsg *nats;             /* NULL: it came in a bundle */
    struct bus_bundle *bundle; /* NULL: it came alone */
    struct bus_link *via;      /* the link it came over, used for its reply, too; NULL: any */
    struct bundle_item item;
    char *expanded; /* the item's body decompressed; NULL: it was not compressed */
};

/* A bundle that came, and the replies to send to it at the end of the step. */
struct bus_bundle {
    natsMsg *nats;
    struct bus_link *via; /* the same as its messages' */
    atomic_size_t n_used; /* messages not freed yet, plus one while replies wait in it */
    bool is_answering;    /* in bus->answering */
    struct bus_bundle *next_answering;
    struct bundle_writer replies;
    struct bus_message messages[];
};

/* Where the replies to a bundle arrive; see bundles.c. */
struct bus_bundle_slot {
    struct bus_bundle_route *route;
    struct bus_bundle_slot *next; /* in the list of free ones */
    natsSubscription *nats;
    const struct bus_link *on;
    char *reply_to;
    unsigned n_open; /* requests without a reply so far */
    uint64_t handles[BUNDLE_ITEMS_MAX];
};

/* The requests to a subject that travel in bundles. */
struct bus_bundle_route {
    struct bus_bundle_route *next;
    char *subject, *bundles;
    struct bus_bundle_slot *free;
    struct bus_bundle_slot *left; /* as inbox.left */
    struct bundle_writer waiting; /* to be sent at the end of the step */
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
    struct bus_reply_slot *left;    /* of the link that was left, and closed with it */
    struct bus_reply_slot **silent; /* those still waiting for their reply */
    size_t n_silent, capacity;
    int64_t sweep_due_us;
};

/* The reply for which bus_call() waits. */
struct bus_call {
    uint64_t handle; /* of the call in flight; a reply with another handle is late and dropped */
    bool has_reply;
    struct bus_message *reply; /* NULL with has_reply: no responders */
};

/* A move from one server to another; see move.c. */
struct bus_move {
    struct bus_link *left; /* NULL: none */
    int socket;            /* of `left`, while it is watched; -1: it is not */
    uint32_t events;       /* that are watched */
    int64_t drain_us, close_us, end_us;
    bool draining, closing;
    pthread_t closer;
};

struct bus {
    struct bus_options options;
    struct bus_tls tls;
    char *inbox_prefix;

    struct bus_link links[BUS_LINKS];
    /* In use, with its subscriptions; NULL until the first one is made. Only the owner sets it. */
    _Atomic(struct bus_link *) link;
    struct bus_move move;
    struct bus_mailbox *mailboxes;

    int wake_fd;
    int changed_fd;          /* readable when wake_fd or the socket of the link that was left is */
    atomic_uint n_changes;   /* of the socket in use */
    unsigned n_changes_seen; /* by the owner */
    atomic_bool closing;
    _Atomic(enum bus_trouble) trouble;             /* of the last round of attempts to connect */
    atomic_uint_least64_t violations, unpublished; /* of any kind; of publishing only */

    pthread_mutex_t link_lock; /* keeps on_link() calls in order, and the links' sockets open */
    bool link_told;

    pthread_t dialer;
    bool dialing;
    int stop_dialing_fd;
    struct bus_link *dial_to;
    char last_where[BUS_WHERE];        /* where the dialer's last connection led; empty: nowhere */
    int64_t dialed_us;                 /* when that was; 0: never */
    _Atomic(struct bus_link *) dialed; /* for the owner to adopt */

    struct bus_inbox inbox;
    struct bus_call call;

    struct bus_bundle_route *routes;
    struct bus_bundle_slot **bundle_slots; /* those still waiting for replies */
    size_t n_bundle_slots, bundle_slots_capacity;
    struct bundle_writer unsent;  /* only the handles */
    struct bus_bundle *answering; /* bundles with replies to send */
    atomic_uint_least64_t n_lost_replies;
};

/* True on the owner's thread while it is inside nats.c. It flushes at the end of its step anyway,
   so a request to write needs no wake-up then. */
extern _Thread_local bool bus_owner_is_inside;

/* bus.c */
void bus_read(struct bus *bus, struct bus_link *link); /* reads from its socket and delivers */

/* options.c */
bool bus_wants_tls(const struct bus_options *options, const struct bus_server *server);
/* For an attempt to connect; `where` is an address and a port of the server. If one of our settings
   is at fault, `why` names it. Destroy *out in any case. */
natsStatus bus_make_options(const struct bus_options *options, const struct bus_server *server,
                            const char *where, natsOptions **out, char why[BUS_WHY]);
const char *bus_error_text(natsStatus s); /* of this thread's last call */

/* dial.c */
void bus_dial(struct bus *bus);
void bus_end_dialing(struct bus *bus); /* waits for the dialer's thread */

/* link.c */
natsStatus bus_set_callbacks(struct bus_link *link, natsOptions *options);
/* Makes it the link in use, with the subscriptions of all mailboxes. */
void bus_adopt(struct bus *bus, struct bus_link *link);
/* Closes it; on return none of its callbacks runs or will run. May take a while. Any thread, but no
   other may use the link in that time. */
void bus_link_close(struct bus_link *link);
/* Releases what remains of a closed link, which can then be used again. */
void bus_link_release(struct bus_link *link);
/* Shuts down our side and waits, until `until_us` at most, for the server to read everything and
   close its side. */
void bus_say_goodbye(const struct bus_link *link, int64_t until_us);
void bus_link_step(struct bus *bus); /* closes a lost link, dials another, adopts it */
bool bus_link_can_call(const struct bus_link *link); /* NULL: no */
/* The link over which a reply leaves. */
struct bus_link *bus_link_for_reply(struct bus *bus, struct bus_link *via);
void bus_link_push(struct bus_link *link); /* writes what the socket takes now */

/* move.c; all on the owner's thread */
void bus_move_step(struct bus *bus);  /* dials if the link in use is lame; closes the one left */
void bus_move_adopt(struct bus *bus); /* makes the dialed link the one in use */
void bus_move_read(struct bus *bus);  /* reads from the link that was left */
void bus_move_push(struct bus *bus);  /* writes what that link's socket takes now */
int bus_move_wait_ms(const struct bus *bus, int timeout_ms); /* less if a move needs steps */
/* Ends a move: none of its threads runs then, and these functions do nothing. */
void bus_move_abort(struct bus *bus);

/* mailbox.c */
struct bus_mailbox *bus_subscribe(struct bus *bus, const char *subject, const char *group,
                                  natsMsgHandler handler, bus_notice_fn on_notice, void *closure);
void bus_mailbox_attach(struct bus_mailbox *mailbox, const struct bus_link *link);
void bus_mailbox_detach(struct bus_mailbox *mailbox, const struct bus_link *link);
void bus_mailbox_drain(struct bus_mailbox *mailbox, const struct bus_link *link);
/* Nothing waits there, and nothing more will arrive. */
bool bus_mailbox_is_drained(const struct bus_mailbox *mailbox, const struct bus_link *link);
void bus_mailbox_free(struct bus_mailbox *mailbox);

size_t bus_queued(natsSubscription *nats);    /* how many messages wait there; NULL: none */
struct bus_message *message_of(natsMsg *msg); /* takes the natsMsg; NULL gives NULL */
/* Takes a bundle and makes messages of its items, at most BUNDLE_ITEMS_MAX. 0: it is malformed, and
   freed. */
size_t bus_bundle_open(natsMsg *msg, struct bus_link *via, bool may_be_compressed,
                       struct bus_message **out);
/* Decompresses the body of a bundle's message, if it is compressed. False: it is malformed, or
   larger than *left, what the bundle may still use. */
bool bus_message_expand(struct bus_message *message, size_t *left);
void bus_bundle_release(struct bus_bundle *bundle); /* drops one reference */
bool bus_wipes(void);                               /* see bus_wipe_what_is_freed() */
void bus_discard(natsMsg *msg); /* frees it, on an owner's thread some time later */
void bus_defer_frees(void);     /* on an owner's thread, before its first bus_discard() */
void bus_free_deferred(void);   /* frees what this thread has discarded */

/* replies.c */
/* Sends the replies gathered in bundles, at the end of a step; on the owner's thread. */
void bus_replies_send(struct bus *bus);

/* bundles.c; all on the owner's thread */
void bus_bundles_send(struct bus *bus);           /* at the end of a step */
void bus_bundles_deliver(struct bus *bus);        /* the replies that nats.c has read */
void bus_bundles_deliver_unsent(struct bus *bus); /* BUS_NO_RESPONDERS for unsent requests */
void bus_bundles_sweep(struct bus *bus);          /* closes slots of requests given up */
void bus_bundles_leave(struct bus *bus);          /* sets the free slots of the last link aside */
void bus_bundles_close(struct bus *bus,
                       const struct bus_link *link); /* the slots of a closed link */
bool bus_bundles_lack_reply(const struct bus *bus, const struct bus_link *link);
void bus_bundles_release(struct bus *bus);
natsStatus bus_bundle_publish(const struct bus_link *link, const char *subject,
                              const char *reply_to, struct str bytes);

/* request.c; all on the owner's thread */
enum status bus_status_of(natsStatus s);
bool bus_has_room(const struct bus_link *link); /* a message can be published now; NULL: no */
enum status bus_publish_via(struct bus_link *link, const char *subject, const char *reply_to,
                            const struct bus_header *headers, size_t n_headers, struct str body);
void bus_inbox_deliver(struct bus *bus); /* the replies that nats.c has read */
void bus_inbox_sweep(struct bus *bus);   /* closes slots of requests given up */
void bus_inbox_leave(struct bus *bus);   /* as bus_bundles_leave() */
void bus_inbox_close(struct bus *bus, const struct bus_link *link);
bool bus_inbox_lacks_reply(const struct bus *bus, const struct bus_link *link);
/* Grows an array of `n` pointers, if needed, to have room for one more. */
void *bus_room_for_one(void *at, size_t n, size_t *capacity);

#endif
