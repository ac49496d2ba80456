/*
 * actor - drains its mailbox into one pipeline and one commit, then replies to all of it.
 *
 * What     One thread, one bus connection, and a database connection and an arena for each batch
 *          under way. A batch:
 *
 *            1  take what waits in the mailbox, by organization in turn (fair_queue.h), at most
 *               `batch_max`; answer `busy` to commands past their deadline, and, where more than
 *               `mailbox_max` waits, to the newest of the organization of which most does
 *            2  parse  each command by itself: bytes to struct, rules, no I/O
 *            3  query  queue its statements; all commands' statements go out as one pipeline, and
 *                      once more, where some ask for what depends on the results
 *            4  reply  turn its rows into a reply or a refusal
 *            5  audit  one entry for each, in one statement
 *            6  commit once; only then publish the replies and the notices
 *
 *          Where the service has two batches, the second one is begun while PostgreSQL works for the
 *          first, as soon as half as many commands wait, or the first has taken 5 ms. Each has its own
 *          transaction, and fails by itself.
 *
 *          When the batch fails, the command with the failed statement is taken out and the others
 *          are run together again, so one bad command never harms the others; where several
 *          commands share the statement, these are halved. Replies of what is committed leave
 *          before that.
 *          Where this takes long, those that are not suspect are given back to the mailbox and run
 *          with the next batch, and suspects are answered `unavailable`.
 *          A command that lost a race (ST_RETRY), or finds its rows locked for longer than a
 *          moment, goes back into the mailbox and is tried with later batches for half a second;
 *          then it is answered `unavailable`. Nothing waits for it meanwhile.
 *          A batch that missed a deadline is followed by smaller ones, and a command that has
 *          waited so long that it would miss its own is answered `busy`.
 *          Commands of organizations that ask for much are left to the slow lane, an actor that
 *          does all of this with what others put into it, and rests after each batch for as long as
 *          it took: see slow_lane.h.
 * Threads  Handlers run on the actor's thread, one at a time, straight through.
 * Fails    Handlers return ST_OK, ST_REFUSED (they filled the refusal: see command_refuse()) or
 *          ST_RETRY from reply (their statements wrote nothing, and hold no lock that others wait
 *          for; run them again). The actor handles all failures of the database:
 *          unavailable, uncertain or server_error. An actor that has been without its database for
 *          a second leaves the queue group to those that have theirs, and joins it
 *          again when it has: see membership.c.
 */
#ifndef COMMON_ACTOR_ACTOR_H
#define COMMON_ACTOR_ACTOR_H

#include "common/actor/command.h"
#include "common/db/db.h"
#include "common/json/fields.h"
#include "proto/outcome.h"

/* One command of a service: what the actor does for it, step by step. Constant. */
struct command_handler {
    const char *subject;      /* from proto/subject.h */
    enum operation operation; /* what the audit log calls it; OP_NONE = not in the audit log */
    enum change change;       /* what the log of changes calls it; CHANGE_NONE = not in it */
    bool writes;
    bool needs_organization; /* refused without one in its headers */
    bool has_secrets;        /* in its body: the arena wipes what it held */
    /* How the body is read into command->input, which has `input_size` bytes and is zeroed first;
       refused if it cannot be. NULL = it is left to `parse`. */
    const struct field *fields;
    size_t input_size;
    bool may_be_empty; /* the body: it is read as {} then */
    /* Checks what the fields alone do not say. ST_REFUSED skips the other two. Runs again, on a
       command as it came, when the command is run again. NULL = there is nothing to check. */
    enum status (*parse)(struct command *command, void *service);
    /* Queues statements with db_add() and keeps their indexes in command->input or command->state;
       NULL = none. */
    void (*query)(struct command *command, struct db *db, void *service);
    /* Looks at the results, and queues what depends on them: for the whole batch that is one more round
       trip, and there is none where nobody queues anything. NULL = none. */
    void (*query_rest)(struct command *command, struct db *db, void *service);
    /* Reads the results; builds the reply. NULL = the reply is there already. May query for more
       with db_add() and db_run(); when that fails, it returns what db_run() said. */
    enum status (*reply)(struct command *command, struct db *db, void *service);
    /* In place of query, or for what commands share beside it: queues the statements of all the handler's
       commands of a batch at once, in lock order, behind what is queried one by one; `n` is at least 1. One
       statement for many commands costs PostgreSQL half of what as many statements do. */
    void (*query_together)(struct command *const *commands, size_t n, struct db *db, void *service);
};

/* The first step of a command: what its handler says of organization, body and parse. */
enum status command_parse(struct command *command, void *service);

/* The numbers of an audit sink's statements in the registry. */
struct audit_statements {
    int entries, changes;
};

/* Writes beside the work of every command, in the same transaction: one statement for all
   commands of a batch, and one for those of operators. The audit log (common/audit_log) is such a
   sink. The actor registers those statements that the service does not have itself. */
struct audit_sink {
    /* A second entry for a request violates its unique key. NULL = there are none: no command of the
       service is an operation of the API. */
    const struct db_statement *entries;
    const struct db_statement *changes;
    /* Queues them for those of `commands` that are to be recorded. */
    void (*add)(struct db *db, const struct audit_statements *statements,
                struct command *const *commands, size_t n, struct arena *arena);
    /* After the commit, of the same commands: the rows of the first statement that was added. May
       set is_recorded_already. NULL = nothing is to be learned from them. */
    void (*on_commit)(const struct db_rows *rows, struct command *const *commands, size_t n);
};
#define AUDIT_SINK_STATEMENTS 2

struct service {
    const char *name;  /* "conversation": the queue group, in logs and metrics */
    const char *group; /* the queue group, if it is not called as the service is; or NULL */
    /* What its actors take in, and nothing else: replicas of which one knows a command and the
       other does not share the rest. */
    const struct command_handler *const *handlers;
    size_t n_handlers;
    const struct db_statement *statements;
    size_t n_statements;
    void *self; /* the service's own state, shared by its actors: read-only after start */
    const struct audit_sink *audit_sink; /* &audit_log, or NULL where nothing is recorded */
    size_t batch_max; /* 0 = 128; less where replies are large: a batch is held whole */
    /* How many of an actor's are under way at once: 1 (0) or 2. Two where a batch keeps PostgreSQL
       busy for long; where the commit is most of it, one large batch costs less than two. */
    size_t batches;
    /* How long one statement may take; 0 = 10 s. What takes longer is refused with 503 and charged
       with that time, and the rest of its batch is run again: well below the time that commands
       have. */
    int statement_ms;
    /* Called about once a second on the first actor's thread between batches; NULL = nothing.
       For upkeep such as partitions made ahead. */
    void (*on_idle)(struct db *db, struct arena *arena, void *self);
    /* By how many seconds it is behind with what it does beside commands, for service discovery;
       NULL = it does nothing of that kind. Called on the first actor's thread. */
    int64_t (*lag_s)(const void *self);
    size_t actors; /* how many, in each process; 0 = as the setting ACTORS says */
    /* One more actor in each process runs what organizations ask for that ask for much: for
       mailboxes in which one command may cost as much as hundreds of others. */
    bool has_slow_lane;
    /* Other commands that the same process takes, with their own mailbox and actors: slow ones
       there delay none here. NULL = none. */
    const struct service *next_in_process;
};

/* -- running one: for service.h and tests ----------------------------------------------------- */

struct actor;
struct actor_metrics; /* common/actor/actor_metrics.h */

struct actor_options {
    const struct service *service;
    struct actor_metrics *metrics; /* shared by all actors of the process */
    const char *name;              /* "conversation-0": how the bus and the database show it */
    const char *bus_url;           /* never logged */
    const struct bus_tls *bus_tls;
    const char *database_url; /* never logged */
    const char *cell;         /* whose subjects it takes; NULL: main */
    bool is_first;            /* calls on_idle */
    size_t batch_max;         /* 0 = as the service says */
    size_t mailbox_max;       /* 0 = 1024 */
    size_t batches;           /* 0 = as the service says */
    bool is_slow_lane;        /* takes nothing in but what others leave to it */
    /* To which other actors of the service leave what takes long; lives longer than they. NULL:
       none. */
    struct actor *slow_lane;
};

/* Starts the thread. NULL (logged): an option is unusable. What the options point to is kept. */
struct actor *actor_start(const struct actor_options *options);
bool actor_bus_is_up(const struct actor *actor);
bool actor_database_is_up(const struct actor *actor);
/* Why it is not, a constant; NULL: it is. */
const char *actor_database_trouble(const struct actor *actor);
/* Ends the intake and lets the thread finish what waits. */
void actor_stop(struct actor *actor);
/* Stops it if need be, waits for its end and frees it. NULL is fine. */
void actor_free(struct actor *actor);

#endif
