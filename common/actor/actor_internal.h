/*
 * actor_internal - the parts of an actor. Private to common/actor.
 *
 *     actor.c          the thread: takes messages in, begins batches and advances them
 *     fair_queue.c     the messages that wait, by organization; flows.c stores them
 *     slow_lane.c      the queue of the slow lane's actor, and the organizations it is for
 *     membership.c     the link to the database, membership in the queue group, and replies to NATS's
 *                      service discovery
 *     upkeep.c         what is done from time to time: hung sessions, the database's clock
 *     batch_item.c     turns a message into a command; calls its hooks
 *     command.c        refusals and notes for hooks; turns a finished command into a reply
 *     transaction.c    turns commands into a transaction
 *     batch.c          the phases of a batch; takes out commands that failed, puts back those that lost a race
 *
 * Threads  The actor's, except for the atomics and the slow lane.
 */
#ifndef COMMON_ACTOR_ACTOR_INTERNAL_H
#define COMMON_ACTOR_ACTOR_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "common/actor/actor.h"
#include "common/actor/actor_metrics.h"
#include "common/actor/fair_queue.h"
#include "common/actor/slow_lane.h"
#include "common/base/clock_check.h"
#include "common/bus/bus.h"
#include "common/trace/trace.h"

/* NATS's own service discovery, for stock tools (`nats micro list`): $SRV.PING, $SRV.INFO and
   $SRV.STATS, each also as .NAME and .NAME.ID, in the formats of the micro protocol (ADR-32), with
   the cell in the metadata. One actor answers for its whole process. Each command is an endpoint.
   The figures are those of the metrics: an error is a failure of ours (5xx), time runs from a
   command's arrival to its reply. STATS also carries `data`: whether the process has its database,
   and how far behind it is with other work. */
enum { DISCOVERY_SUBJECTS = 5 }; /* three for all services, one by name, one by id */

struct discovery {
    const struct actor_metrics *metrics; /* of all mailboxes of the process */
    const char *instance;                /* "conversation-0" */
    const char *cell;                    /* NULL: main */
    struct bus *bus;
    struct bus_mailbox *asked[DISCOVERY_SUBJECTS]; /* NULL: not open */
    char id[UUID_TEXT + 1];                        /* of this process, until it ends */
    int64_t started_us;
    bool has_database; /* at the latest request */
    /* The database's clock, in Unix milliseconds, and clock_mono_us() when it was read; 0: never. */
    int64_t database_ms, database_read_us;
};

struct transaction;

enum { BATCHES_MAX = 2 };

enum batch_phase {
    BATCH_IDLE,
    BATCH_ASKED,      /* its statements are sent */
    BATCH_ASKED_REST, /* those that depend on the results are sent */
    BATCH_COMMITTING  /* its commit is sent */
};

/* Commands that run together, and the connection that they run on. An actor has one or two
   (`batches` of its service): while the server works on one, the actor parses, queries or replies
   to the other. */
struct batch {
    enum batch_phase phase;
    struct db *db;
    struct arena arena; /* cleared when the batch ends */
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
    bool has_left;                  /* the queue group, because its database is down */
    int64_t lost_us;                /* when the database was last lost, by clock_mono_us() */
    struct discovery discovery;     /* opened by the first actor of the process */
    struct batch batches[BATCHES_MAX];
    size_t n_batches;
    struct batch *batch;             /* the current one, or the last */
    struct db_statement *statements; /* the service's, the audit sink's and the actor's own */
    int limit_lock_waits, end_hung_sessions;  /* their numbers in `statements` */
    int list_closed;                          /* its number; -1 if no entries are written */
    struct audit_statements audit_statements; /* of the audit sink */

    struct fair_queue queue;
    /* Shared by the actors that put into it and the one that takes from it, its owner; NULL:
       none. */
    struct slow_lane *slow_lane;
    /* For replies to the commands that it hands over; NULL: it hands none over. */
    struct reply_queue *reply_queue;
    int64_t rest_until_us; /* the slow lane's, by clock_mono_us() */
    size_t replied_bytes;  /* of its batch */
    size_t batch_now;      /* how many commands it takes at once: fewer after a late batch */
    int64_t batch_us;      /* how long the latest batch took */

    int64_t idle_due_us; /* by clock_mono_us() */
    int64_t hung_due_us; /* likewise: the next look for hung sessions */
    struct clock_check clock_check;
    int64_t short_locks_until_us; /* likewise; until then LOCK_TIMEOUT_SHORT_MS applies */
    bool has_unsent;              /* the bus' socket did not take everything */
    bool showed_bus_up;           /* in the gauge */
    int64_t showed_waiting, showed_lost_replies;

    /* The last notice of this batch: it is not published twice in a row. */
    const char *noticed;
    struct uuid noticed_for;

    pthread_t thread;
    atomic_bool is_stopping;
    _Atomic(const char *) database_trouble; /* why it is down; NULL: it is up */
};

/* How long a statement waits for a lock: normally, and for a while after a wait has timed out. */
enum { LOCK_TIMEOUT_MS = 300, LOCK_TIMEOUT_SHORT_MS = 20 };

/* A command on its way through a batch. */
struct batch_item {
    struct command command;
    struct waiting waiting; /* what it was made from */
    struct str request_id;  /* as sent, for the log */
    struct span span;
    size_t arrival;
    size_t entries_begin, entries_end; /* its statements of the transaction */
    /* Bytes of results dropped because the batch held too much; if not 0, its reply hook is not
       called. */
    size_t left;
    enum status status; /* of its hooks so far; ST_OK, ST_REFUSED or ST_RETRY at the end */
    bool is_suspect;    /* the latest transaction may have failed because of it */
    bool has_failed;    /* for a reason of its own: only its audit entry is written */
};

/* -- actor.c --------------------------------------------------------------------------------- */

/* Called from time to time while a db waits. */
void actor_on_wait(void *closure);

/* -- membership.c ---------------------------------------------------------------------------- */

/* False (logged): the URL cannot be parsed. */
bool membership_open_database(struct actor *actor);
/* One step: connects, joins the queue group or leaves it; takes 50 ms at most. */
void membership_update(struct actor *actor);
/* The database was lost a moment ago and may soon be reachable again: commands wait for it. */
bool membership_may_recover(const struct actor *actor);
void membership_update_gauges(struct actor *actor);
/* At least one of its connections is up. */
bool membership_has_database(const struct actor *actor);
bool membership_has_all_connections(const struct actor *actor); /* to the database */
/* Stops taking messages; those that the bus has already routed here still arrive. */
void membership_close_intake(struct actor *actor);
bool membership_is_drained(const struct actor *actor);

/* Replies to the service discovery requests that have arrived; does nothing before it is open. */
void membership_reply_to_discovery(struct actor *actor);

/* -- upkeep.c -------------------------------------------------------------------------------- */

/* Ends the sessions of programs that hang in a transaction, and does what the service does when it
   is idle. Returns when there is more to do; INT64_MAX: never. */
int64_t upkeep_do(struct actor *actor, int64_t now_us);

enum { UPKEEP_TIME_TEXT = 24 };
/* What the database's clock shows now, as a header, if it was read lately: nobody sets the monotonic
   clock. Returns the number of headers. */
size_t upkeep_database_time(const struct discovery *discovery, char text[UPKEEP_TIME_TEXT],
                            struct bus_header *out);

/* -- batch_item.c ---------------------------------------------------------------------------- */

/* A message's deadline by clock_mono_us(); 0: it is malformed. */
int64_t message_until_us(struct bus_message *message, int64_t received_us, int64_t since_us);
/* False: not a command of ours, or not well-formed; the outcome says so. */
bool batch_item_read(struct actor *actor, const struct waiting *from, struct batch_item *item);
bool batch_item_is_expired(const struct batch_item *item);
/* Less than half of its time is left, and less than the latest batch took. */
bool batch_item_is_hopeless(const struct actor *actor, const struct batch_item *item);
/* Each takes the item one step further and sets its status. */
void batch_item_parse(struct actor *actor, struct batch_item *item);
void batch_item_query(struct actor *actor, struct batch_item *item);
void batch_item_query_rest(struct actor *actor, struct batch_item *item);
void batch_item_reply(struct actor *actor, struct batch_item *item);
/* Clears the reply and makes it one of the actor's own failures. */
void batch_item_fail(struct batch_item *item, enum outcome outcome);

/* -- transaction.c --------------------------------------------------------------------------- */

/* Runs them as one transaction. ST_OK: it is committed, and every status is ST_OK, ST_REFUSED or
   ST_RETRY (wrote nothing, has no entry, must run again). Anything else: nothing is written, unless
   ST_UNCERTAIN, and the items that may have caused it are marked as suspects, at least one while
   the link is up. */
enum status transaction_run(struct actor *actor, struct batch_item **items, size_t n,
                            bool locks_are_short);
/* The same in four steps. ST_OK from any but the last means that something was sent; once
   db_is_ready(), the next step does not block. The second may have nothing to send: see
   *was_sent. */
enum status transaction_ask(struct actor *actor, struct batch_item **items, size_t n,
                            bool locks_are_short, struct transaction **out);
enum status transaction_ask_rest(struct transaction *transaction, bool *was_sent);
enum status transaction_answer(struct transaction *transaction);
enum status transaction_commit(struct transaction *transaction);

/* -- batch.c --------------------------------------------------------------------------------- */

/* Runs them in actor->batch, which must be idle, as one transaction if possible. In the end each is
   replied to, dropped or put back, and the batch is idle again. */
void batch_begin(struct actor *actor, struct batch_item **items, size_t n);
/* The server has answered actor->batch. */
void batch_advance(struct actor *actor);

/* -- command.c ------------------------------------------------------------------------------- */

void command_send_reply(struct actor *actor, struct batch_item *item);
/* Drops it without a reply. */
void command_drop(struct actor *actor, struct batch_item *item);
/* Both reply that nothing was started: the deadline has passed, or would pass before the end. */
void command_expire(struct actor *actor, struct batch_item *item);
void command_reject(struct actor *actor, struct batch_item *item);
/* The same for a message for which the queue has no room. */
void command_reject_message(struct actor *actor, const struct waiting *waiting);
/* Puts it into the slow lane; rejects it if that is full. */
void command_hand_over(struct actor *actor, const struct uuid *organization,
                       struct waiting waiting);
/* Sends replies from the slow lane while the bus' socket takes them. */
void command_send_slow_replies(struct actor *actor);

#endif
