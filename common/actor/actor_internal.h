/*
 * actor_internal - the parts of an actor and how they hand a command on. Private to common/actor.
 *
 *     actor.c          the thread: takes in, begins batches and moves them on
 *     fair_queue.c     what waits, by organization; flows.c keeps it
 *     slow_lane.c      the queue of the slow lane's actor, and the organizations it is for
 *     membership.c     the link to the database, membership in the queue group, and replies to NATS's
 *                      service discovery
 *     batch_item.c     a message becomes a command; its hooks are called
 *     command.c        what hooks say of a command; a command that is done with becomes a reply
 *     transaction.c    commands become a transaction
 *     batch.c          the phases of a batch; what failed is taken out of a batch, what lost a race is put back
 *
 * Threads  The actor's, the atomics and the slow lane apart.
 */
#ifndef COMMON_ACTOR_ACTOR_INTERNAL_H
#define COMMON_ACTOR_ACTOR_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "common/actor/actor.h"
#include "common/actor/actor_metrics.h"
#include "common/actor/fair_queue.h"
#include "common/actor/slow_lane.h"
#include "common/bus/bus.h"
#include "common/trace/trace.h"

/* NATS's own service discovery, as stock tools ask for it (`nats micro list`): $SRV.PING, $SRV.INFO and
   $SRV.STATS, each also as .NAME and .NAME.ID, in the shapes of the micro protocol (ADR-32), with the cell in the metadata. One actor
   answers for its process, beside the others' work; an endpoint is a command. The figures are those of
   the metrics: an error is a failure of ours (5xx), time runs from a command's arrival to its reply. STATS
   carries `data` besides: whether it can run commands, and how far behind it is with its other work. */
enum { DISCOVERY_SUBJECTS = 5 }; /* three for all services, one by name, one by id */

struct discovery {
    const struct actor_metrics *metrics; /* of all mailboxes of the process */
    const char *instance;                /* "conversation-0" */
    const char *cell;                    /* NULL: main */
    struct bus *bus;
    struct bus_mailbox *asked[DISCOVERY_SUBJECTS]; /* NULL: not open */
    char id[UUID_TEXT + 1];                        /* of this process, until it ends */
    int64_t started_us;
    bool has_database; /* when it was asked last */
};

struct transaction;

enum { BATCHES_MAX = 2 };

enum batch_phase {
    BATCH_IDLE,
    BATCH_ASKED,      /* its statements are under way */
    BATCH_ASKED_REST, /* and what depends on their results */
    BATCH_COMMITTING  /* and its commit */
};

/* Commands that are run together, and the connection that they run on. An actor has one or two
   (`batches` of its service): while the server works for one, the other is parsed, asked, answered. */
struct batch {
    enum batch_phase phase;
    struct db *db;
    struct arena arena; /* cleared behind it */
    struct transaction *transaction;
    struct batch_item **items;
    size_t n;
    int64_t start_us, deadline_us; /* by clock_mono_us() and clock_us() */
};

struct actor {
    struct actor_options options;
    const struct service *service;
    struct actor_metrics *metrics;
    struct route_metrics *route_metrics; /* in the order of the service's handlers */
    struct bus *bus;
    struct bus_mailbox **mailboxes; /* one for each handler */
    size_t n_mailboxes;             /* 0 until the database is there for the first time */
    bool has_left;                  /* the queue group, for want of the database */
    int64_t lost_us;                /* when the database was lost last, by clock_mono_us() */
    struct discovery discovery;     /* opened by the first actor of the process */
    struct batch batches[BATCHES_MAX];
    size_t n_batches;
    struct batch *batch;             /* the one that is dealt with, or was last */
    struct db_statement *statements; /* the service's, the audit sink's, and the next behind them */
    int limit_lock_waits, end_hung_sessions;  /* their numbers */
    int list_closed;                          /* likewise; -1 where no entries are written */
    struct audit_statements audit_statements; /* of the audit sink */

    struct fair_queue queue;
    /* Shared by the producers and the consumer, its owner; NULL: there is none. */
    struct slow_lane *slow_lane;
    /* For replies of the commands that it has handed over; NULL: it hands none over. */
    struct reply_queue *reply_queue;
    int64_t rest_until_us; /* the slow lane's, by clock_mono_us() */
    size_t replied_bytes;  /* of its batch */
    size_t batch_now;      /* how many it takes at once: fewer after too many */
    int64_t batch_us;      /* how long the latest batch took */

    int64_t idle_due_us;          /* by clock_mono_us() */
    int64_t short_locks_until_us; /* likewise: until then LOCK_TIMEOUT_SHORT_MS applies */
    bool has_unsent;              /* the bus' socket did not take everything */
    bool showed_bus_up;           /* in the gauge */
    int64_t showed_waiting, showed_lost_replies;

    /* The last notice of this batch: the same one is not published twice in a row. */
    const char *noticed;
    struct uuid noticed_for;

    pthread_t thread;
    atomic_bool is_stopping;
    _Atomic(const char *) database_trouble; /* why it is down; NULL: it is up */
};

/* How long a statement waits for a lock: usually, and shortly after one was not to be had. */
enum { LOCK_TIMEOUT_MS = 300, LOCK_TIMEOUT_SHORT_MS = 20 };

/* A command on its way through a batch. */
struct batch_item {
    struct command command;
    struct waiting waiting; /* what it was made from */
    struct str request_id;  /* as sent, for the log */
    struct span span;
    size_t arrival;
    size_t entries_begin, entries_end; /* its statements of the transaction */
    /* bytes that it asked for beyond what a transaction may hold: its reply hook is not called */
    size_t left;
    enum status status; /* of its handlers so far: ST_OK, ST_REFUSED or ST_RETRY when settled */
    bool is_suspect;    /* the latest transaction may have failed because of it */
    bool has_failed;    /* for its own reason: it is only recorded */
};

/* -- actor.c --------------------------------------------------------------------------------- */

/* Now and again while a db waits. */
void actor_on_wait(void *closure);

/* -- membership.c ---------------------------------------------------------------------------- */

/* False (logged): the URL cannot be parsed. */
bool membership_open_database(struct actor *actor);
/* Ends the sessions of programs that hang in a transaction. */
void membership_end_hung_sessions(struct actor *actor);
/* A step of connecting, of joining the queue group or of leaving it; takes 50 ms at most. */
void membership_update(struct actor *actor);
/* The database was lost a moment ago and may be back in another one: commands wait for it. */
bool membership_may_recover(const struct actor *actor);
void membership_update_gauges(struct actor *actor);
/* One of its connections is up. */
bool membership_has_database(const struct actor *actor);
/* What was routed here before still comes in. */
void membership_close_intake(struct actor *actor);
bool membership_is_drained(const struct actor *actor);

/* Replies to what service discovery has asked since; does nothing before it is open. */
void membership_reply_to_discovery(struct actor *actor);

/* -- batch_item.c ---------------------------------------------------------------------------- */

/* A message's deadline by clock_mono_us(); 0: it is malformed. */
int64_t message_until_us(struct bus_message *message, int64_t received_us, int64_t since_us);
/* False: not a command of ours, or not well-formed; the outcome says so. */
bool batch_item_read(struct actor *actor, const struct waiting *from, struct batch_item *item);
bool batch_item_is_expired(const struct batch_item *item);
/* It has waited for most of its time, and the rest is too short for a batch like the latest. */
bool batch_item_is_hopeless(const struct actor *actor, const struct batch_item *item);
/* Each takes a fresh item one step further and leaves the result in its status. */
void batch_item_parse(struct actor *actor, struct batch_item *item);
void batch_item_query(struct actor *actor, struct batch_item *item);
void batch_item_query_rest(struct actor *actor, struct batch_item *item);
void batch_item_reply(struct actor *actor, struct batch_item *item);
/* Clears the reply and makes it one of the actor's own failures. */
void batch_item_fail(struct batch_item *item, enum outcome outcome);

/* -- transaction.c --------------------------------------------------------------------------- */

/* Runs them as one transaction. ST_OK: it is committed, and every status is ST_OK, ST_REFUSED or
   ST_RETRY (wrote nothing, has no entry, is to be run again). Anything else: nothing is written,
   unless ST_UNCERTAIN, and those to which it may be due are marked as suspects, at least one while
   the link is up. */
enum status transaction_run(struct actor *actor, struct batch_item **items, size_t n,
                            bool locks_are_short);
/* The same in four steps. After each but the last one, ST_OK means that something was sent, and
   db_is_ready() says when the next step does not wait for the answer; the second says whether something
   was sent. */
enum status transaction_ask(struct actor *actor, struct batch_item **items, size_t n,
                            bool locks_are_short, struct transaction **out);
enum status transaction_ask_rest(struct transaction *transaction, bool *was_sent);
enum status transaction_answer(struct transaction *transaction);
enum status transaction_commit(struct transaction *transaction);

/* -- batch.c --------------------------------------------------------------------------------- */

/* Runs them in actor->batch, which is idle, as one transaction if possible: in the end each is
   replied to, dropped or put back, and the batch is idle again. */
void batch_begin(struct actor *actor, struct batch_item **items, size_t n);
/* The server has answered actor->batch. */
void batch_advance(struct actor *actor);

/* -- command.c ------------------------------------------------------------------------------- */

void command_send_reply(struct actor *actor, struct batch_item *item);
/* Drops it without a reply. */
void command_drop(struct actor *actor, struct batch_item *item);
/* Replies that nothing was started: its deadline has passed, or will have. */
void command_expire(struct actor *actor, struct batch_item *item);
void command_reject(struct actor *actor, struct batch_item *item);
/* The same of a message that was not taken from the queue, because that is full. */
void command_reject_message(struct actor *actor, const struct waiting *waiting);
/* Puts it into the slow lane, or rejects it when that is full. */
void command_hand_over(struct actor *actor, const struct uuid *organization,
                       struct waiting waiting);
/* Sends the replies of the slow lane, as long as the bus' socket takes them. */
void command_send_slow_replies(struct actor *actor);

#endif
