/*
 * handler - what a service is made of: the handlers of its commands, and where they are recorded.
 *
 * Owns     Nothing; constant while its actors run.
 * Threads  Handlers run on the actor's thread, one at a time, to completion.
 * Fails    Hooks return ST_OK, ST_REFUSED (they filled in the refusal: see command_refuse()) or,
 *          from the reply hook only, ST_RETRY (their statements wrote nothing and hold no lock that
 *          others wait for; run them again). Anything else is a failure of the command: server_error.
 *          The actor handles all failures of the database.
 */
#ifndef COMMON_ACTOR_HANDLER_H
#define COMMON_ACTOR_HANDLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"
#include "proto/outcome.h"

struct arena;
struct command;
struct db;
struct db_rows;
struct db_statement;
struct field;

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

/* The numbers of an audit sink's statements in the registry. */
struct audit_statements {
    int entries, changes;
};

/* Writes in the transaction of the commands' work: one statement for the entries of a batch, and one
   for the changes that operators and users of the dashboard make. The audit log (common/audit_log) is such a sink. The actor
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

#define BATCHES_MAX 2

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
    /* How many batches an actor runs at once: 1 (0) to BATCHES_MAX. Two help if a batch keeps PostgreSQL busy
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

#endif
