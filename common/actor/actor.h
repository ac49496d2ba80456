/*
 * actor - runs the commands of its mailbox in batches: one pipeline, one commit, then all replies.
 *
 * What     One thread, one bus connection, and a database connection and an arena for each batch
 *          in progress. A batch:
 *
 *            1  take at most `batch_max` commands from the mailbox, by organization in turn
 *               (fair_queue.h). Commands past their deadline are answered `busy`; if more than
 *               `mailbox_max` wait, so are the newest of the organization with the most of them
 *            2  parse  each command by itself: bytes to struct, rules, no I/O
 *            3  query  queue its statements; those of all commands go out as one pipeline. Statements
 *                      that depend on the results, if there are any, go out as a second one
 *            4  reply  turn its rows into a reply or a refusal
 *            5  audit  write one entry for each command, all in one statement
 *            6  commit once; only then publish the replies and the notices
 *
 *          If the service has two batches, the second begins while PostgreSQL works on the first:
 *          as soon as half as many commands wait as the first has, or 5 ms after the first began.
 *          Each has its own transaction and fails independently of the other.
 *
 *          When a batch fails, the command whose statement failed is taken out and the others run
 *          together again, so one bad command never harms the others. If several commands share the
 *          failed statement, they run again in halves. Commands that commit are answered at once.
 *          If the search takes too long, the commands that are not suspects go back to the mailbox
 *          and run with the next batch, and suspects are answered `unavailable`.
 *          A command that lost a race (ST_RETRY), or waited too long for a row lock, goes back into
 *          the mailbox and is retried with later batches for half a second; then it is answered
 *          `unavailable`. No other command waits for it.
 *          After a batch that missed a deadline, batches are smaller. A command that has waited so
 *          long that it would miss its own deadline is answered `busy`.
 *          Commands of organizations that send expensive ones go to the slow lane: an actor that
 *          runs what the others hand over to it in the same way, and rests after each batch for as
 *          long as the batch took. See slow_lane.h.
 * Threads  Handlers run on the actor's thread, one at a time, to completion.
 * Fails    Handlers return ST_OK, ST_REFUSED (they filled in the refusal: see command_refuse()) or,
 *          from the reply hook only, ST_RETRY (their statements wrote nothing and hold no lock that
 *          others wait for; run them again). The actor handles all failures of the database:
 *          unavailable, uncertain or server_error. An actor without its database for a second
 *          leaves the queue group to actors that have theirs, and rejoins when the database is back:
 *          see membership.c.
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
    enum operation operation; /* its name in the audit log; OP_NONE = not in it */
    enum change change;       /* its name in the log of changes; CHANGE_NONE = not in it */
    bool writes;
    bool needs_organization; /* without one in its headers it is refused */
    bool has_secrets;        /* in its body: the arena wipes its memory */
    /* How the body is read into command->input, which has `input_size` bytes and is zeroed first. A
       body that does not match is refused. NULL = `parse` reads the body. */
    const struct field *fields;
    size_t input_size;
    bool may_be_empty; /* an empty body is read as {} */
    /* Checks what the fields alone cannot. ST_REFUSED skips the other hooks. Called again, on the
       original command, when the command runs again. NULL = nothing to check. */
    enum status (*parse)(struct command *command, void *service);
    /* Queues statements with db_add() and keeps their indexes in command->input or command->state;
       NULL = none. */
    void (*query)(struct command *command, struct db *db, void *service);
    /* Reads the results and queues statements that depend on them: one more round trip for the
       whole batch, or none if no command queues any. NULL = none. */
    void (*query_rest)(struct command *command, struct db *db, void *service);
    /* Reads the results and builds the reply. NULL = an earlier hook has built it. May run more
       statements with db_add() and db_run(); if that fails, returns the status of db_run(). */
    enum status (*reply)(struct command *command, struct db *db, void *service);
    /* Instead of query, or in addition to it for statements that commands share: queues the
       statements for all of the handler's commands in a batch at once, in lock order, after those
       queued one by one; `n` is at least 1. One statement for many commands costs PostgreSQL half
       as much as one statement each. */
    void (*query_together)(struct command *const *commands, size_t n, struct db *db, void *service);
};

/* The first step of a command: checks that it has the organization it needs, reads its body, calls
   parse. */
enum status command_parse(struct command *command, void *service);

/* The numbers of an audit sink's statements in the registry. */
struct audit_statements {
    int entries, changes;
};

/* Writes in the transaction of the commands' work: one statement for all commands of a batch, and
   one more for operators' commands. The audit log (common/audit_log) is such a sink. The actor
   registers those statements that the service does not have itself. */
struct audit_sink {
    /* A second entry for a request violates its unique key. NULL = no command of the service is an
       operation of the API. */
    const struct db_statement *entries;
    const struct db_statement *changes;
    /* Queues them for those of `commands` that must be recorded. */
    void (*add)(struct db *db, const struct audit_statements *statements,
                struct command *const *commands, size_t n, struct arena *arena);
    /* Called after the commit, with the same commands and the rows of the first statement that was
       added. May set is_recorded_already. NULL = the rows are not needed. */
    void (*on_commit)(const struct db_rows *rows, struct command *const *commands, size_t n);
};
#define AUDIT_SINK_STATEMENTS 2

struct service {
    const char *name;  /* "conversation": the queue group, in logs and metrics */
    const char *group; /* the queue group; NULL = the service's name */
    /* The only commands that its actors take. Replicas of different versions share the commands
       that both have. */
    const struct command_handler *const *handlers;
    size_t n_handlers;
    const struct db_statement *statements;
    size_t n_statements;
    void *self; /* the service's own state, shared by its actors: read-only after start */
    const struct audit_sink *audit_sink; /* &audit_log; NULL = nothing is recorded */
    size_t batch_max; /* 0 = 128; less if replies are large: memory holds a whole batch */
    /* How many batches an actor runs at once: 1 (0) or 2. Two help if a batch keeps PostgreSQL busy
       for long; if most of a batch is its commit, one large batch costs less than two. */
    size_t batches;
    /* How long one statement may take; 0 = 10 s. A command whose statement takes longer is refused
       with 503 and charged for that time, and the rest of its batch runs again. Must be well below
       the time that commands have. */
    int statement_ms;
    /* Called about once a second on the first actor's thread between batches; NULL = nothing. For
       upkeep such as creating partitions ahead of time. */
    void (*on_idle)(struct db *db, struct arena *arena, void *self);
    /* By how many seconds its work other than commands lags, for service discovery; NULL = it has
       no such work. Called on the first actor's thread. */
    int64_t (*lag_s)(const void *self);
    size_t actors; /* how many in each process; 0 = the setting ACTORS */
    /* One more actor in each process runs the commands of organizations that send expensive ones:
       for mailboxes in which one command may cost as much as hundreds of others. */
    bool has_slow_lane;
    /* Other commands that the same process takes, with their own mailbox and actors, so that slow
       ones there delay none here. NULL = none. */
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
    const char *cell;         /* whose subjects it serves; NULL: main */
    bool is_first;            /* does the upkeep; answers service discovery */
    size_t batch_max;         /* 0 = as the service says */
    size_t mailbox_max;       /* 0 = 1024 */
    size_t batches;           /* 0 = as the service says */
    bool is_slow_lane;        /* takes only what other actors hand over */
    /* Other actors of the service hand over the commands of slow organizations to this one, which
       must outlive them. NULL: none. */
    struct actor *slow_lane;
};

/* Starts the thread. NULL (logged): an option is unusable. What the options point to must outlive
   the actor. */
struct actor *actor_start(const struct actor_options *options);
bool actor_database_is_up(const struct actor *actor);
/* Why it is not up, a constant text; NULL: it is up. */
const char *actor_bus_trouble(const struct actor *actor);
const char *actor_database_trouble(const struct actor *actor);
/* Ends the intake and lets the thread finish the commands that wait. */
void actor_stop(struct actor *actor);
/* Stops it if needed, waits for its thread to end, and frees it. NULL is fine. */
void actor_free(struct actor *actor);

#endif
