/*
 * actor - drains a mailbox into one pipeline and one commit, then answers everybody.
 *
 * What     One thread, one bus connection, one database connection, one arena. A turn:
 *
 *            1  take what waits in the mailbox, at most `batch_most`; drop what is past its
 *               deadline; answer `busy` to what exceeds `mailbox_most`
 *            2  judge  each command by itself: bytes to struct, rules, no I/O
 *            3  ask    queue its statements; all commands' statements go out as one pipeline
 *            4  tell   turn its rows into a reply or a refusal
 *            5  record the ledger: one audit entry for each, in one statement
 *            6  commit once; only then publish the replies and ring the doorbells
 *
 *          When the batch fails, its commands are run again one by one, so one bad command never
 *          harms its neighbours; a command that lost a race (ST_RETRY) is run again up to 3 times.
 *          A batch that missed a deadline is followed by smaller ones, and what has waited so long
 *          that it would miss its own is answered `busy`.
 * Threads  Handlers run on the actor's thread, one at a time, straight through.
 * Fails    Handlers return ST_OK, ST_REFUSED (they filled the refusal: see command_refuse()) or
 *          ST_RETRY from tell (their statements wrote nothing; run me again). Anything that goes
 *          wrong in the database is the actor's business: unavailable, uncertain or server_error.
 *          An actor that has been without its database for a quarter of a second leaves the queue
 *          group to those that have theirs, and joins it again when it has: see links.c.
 */
#ifndef COMMON_ACTOR_ACTOR_H
#define COMMON_ACTOR_ACTOR_H

#include "common/actor/command.h"
#include "common/db/db.h"
#include "proto/change.h"

/* One row of a service's table of commands. */
struct route {
    const char *subject;      /* from proto/subject.h */
    enum operation operation; /* what the audit trail calls it; OP_NONE = not in the trail */
    enum change change;       /* what the trail of changes calls it; CHANGE_NONE = not in it */
    bool writes;
    /* Parses and judges the bytes. ST_REFUSED skips the other two. Runs again, on a command as it
       came, when the command is run again. */
    enum status (*judge)(struct command *command, void *service);
    /* Queues statements with db_add() and keeps their indexes in command->state; NULL = none. */
    void (*ask)(struct command *command, struct db *db, void *service);
    /* Reads the results; builds the reply. NULL = the reply is there already. May ask for more with
       db_add() and db_run(); when that fails, it returns what db_run() said. */
    enum status (*tell)(struct command *command, struct db *db, void *service);
    /* In place of ask: queues the statements of all the route's commands of a batch at once, in
       lock order, behind those of the routes that ask one by one; `n` is at least 1. One statement
       for many commands costs PostgreSQL half of what as many statements do. */
    void (*ask_together)(struct command *const *commands, size_t n, struct db *db, void *service);
};

/* What is written beside the work of every command, in the same transaction: one statement for all
   commands of a batch, and one for those of operators. The audit trail is the one ledger
   (common/trail). The actor registers the statements behind the service's own, in this order. */
struct ledger {
    const struct db_statement *entries; /* a second entry for a request violates its unique key */
    const struct db_statement *changes;
    /* Queues them for those of `commands` that are to be recorded; `statement` is the first's
       number in the registry. */
    void (*add)(struct db *db, int statement, struct command *const *commands, size_t n,
                struct arena *arena);
};
#define LEDGER_STATEMENTS 2

struct service {
    const char *name;    /* "conversation": the queue group, in logs and metrics */
    const char *group;   /* the queue group, if it is not called as the service is; or NULL */
    const char *mailbox; /* subject with wildcard: "v1.conversation.*" */
    const struct route *routes;
    size_t n_routes;
    const struct db_statement *statements;
    size_t n_statements;
    void *self; /* the service's own state, shared by its actors: read-only after start */
    const struct ledger *ledger; /* &trail, or NULL where nothing is recorded */
    size_t batch_most;           /* 0 = 128; less where replies are large: a batch is held whole */
    /* Whether an organization exists is looked up for what has an ask and is no operation of the
       API: who sends it names the organization. not_found where there is none. */
    bool looks_up_organizations;
    /* Called about once a second on the first actor's thread between batches; NULL = nothing.
       For upkeep such as partitions made ahead. */
    void (*on_idle)(struct db *db, struct arena *arena, void *self);
    size_t actors; /* how many, in each process; 0 = as the setting ACTORS says */
    /* Another mailbox that the same process serves, with actors of its own: what takes long there
       delays nobody here. NULL = there is none. */
    const struct service *beside;
};

/* -- running one: for service.h and tests ----------------------------------------------------- */

struct actor;
struct meters; /* common/actor/meters.h */

struct actor_options {
    const struct service *service;
    struct meters *meters; /* shared by all actors of the process */
    const char *name;      /* "conversation-0": how the bus and the database show it */
    const char *bus_url;   /* never logged */
    const struct bus_tls *bus_tls;
    const char *database_url; /* never logged */
    bool is_first;            /* calls on_idle */
    size_t batch_most;        /* 0 = as the service says */
    size_t mailbox_most;      /* 0 = 1024 */
};

/* Starts the thread. NULL (logged): an option is unusable. What the options point to is kept. */
struct actor *actor_start(const struct actor_options *options);
bool actor_bus_is_up(const struct actor *actor);
bool actor_database_is_up(const struct actor *actor);
/* Ends the intake and lets the thread finish what waits. */
void actor_stop(struct actor *actor);
/* Stops it if need be, waits for its end and frees it. NULL is fine. */
void actor_free(struct actor *actor);

#endif
