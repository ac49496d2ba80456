/*
 * command - one message from the mailbox, on its way to becoming a reply.
 *
 * Owns     Everything in it lives in its batch's arena until the batch is replied to.
 * Threads  The actor's.
 */
#ifndef COMMON_ACTOR_COMMAND_H
#define COMMON_ACTOR_COMMAND_H

#include "common/base/arena.h"
#include "common/base/buf.h"
#include "common/base/status.h"
#include "common/base/uuid.h"
#include "common/json/fields.h"
#include "proto/outcome.h"

struct bus_message;
struct command_handler;
struct db;

/* The sender, from the headers (proto/headers.h). Absent ids are nil. */
struct caller {
    struct uuid request_id;
    struct uuid organization_id;
    struct uuid api_key_id;
    bool may_write;
    /* The user signed in to the dashboard; read for changes only. Absent texts are STR_NONE. */
    struct uuid user_id;
    struct str user_email;
    struct str address; /* of the user; well-formed */
};

struct command {
    const struct command_handler *handler;
    struct bus_message *message;
    struct caller caller;
    struct str resource_id; /* the id in the path as sent, or STR_NONE */
    struct str query;       /* the raw query string, or STR_NONE */
    struct str body;
    struct str traceparent;           /* as sent, for the log: see log_trace() */
    int64_t received_us, deadline_us; /* clock_us(); a command without a deadline gets 5 s */
    struct arena *arena;

    /* The handler's reply: all empty when parse begins. */
    enum outcome outcome;   /* OUTCOME_OK unless the handler sets another */
    struct buf reply;       /* the body, if the outcome is a success */
    struct errors errors;   /* if it is not */
    unsigned retry_after_s; /* sent with a refusal; 0 = not sent */

    /* The ids in the audit entry; nil = null. */
    struct uuid conversation_id, contact_id;

    /* For the log of changes, in addition to what proto/change.def takes from request and reply;
       STR_NONE and empty unless the handler sets them. */
    bool is_no_change; /* no-op: nothing changed, so no change is audited */
    struct str change_target;
    struct buf change_detail; /* see command_note() */

    /* The audit log already has an entry for the request, and keeps it. Only the audit sink sets
       this. */
    bool is_recorded_already;

    void *input; /* the body, as the handler's fields read it */
    void *state; /* what else the handler keeps between its hooks */

    /* Commands of one batch that need the same rows run in the order of this key (then of arrival),
       which is the same in every replica, so that batches cannot deadlock. 0 = any order. Where a
       handler has query_together, that holds among its own commands. */
    uint64_t lock_order;

    /* The cost, for fairness between organizations, in units of about 20 microseconds of a database
       backend, which is what a get takes. 0 until it is parsed, and then 1 unless the reply hook
       sets more; the bytes of the reply, and of the body of a write, are added. */
    uint32_t cost;

    /* The subject of a notice to publish after the commit (no body, the caller's organization
       in the header); NULL = none. */
    const char *notice;
};

/* Refuses with one error; returns ST_REFUSED so that it can be returned in one line. The error
   code is the outcome's. `field` may be NULL. */
enum status command_refuse(struct command *command, enum outcome outcome, const char *field,
                           const char *message, ...) __attribute__((format(printf, 4, 5)));
/* Refuses with the errors that command->errors already has. */
enum status command_refuse_all(struct command *command, enum outcome outcome);
/* Adds a member to the detail of the change; never a secret. STR_NONE is left out. */
void command_note(struct command *command, const char *name, struct str value);

/* The first step of a command: checks that it has the organization it needs, reads its body, calls
   its handler's parse hook. */
enum status command_parse(struct command *command, void *service);

/* -- for the actor: what it does around the hooks ----------------------------------------------- */

bool command_is_expired(const struct command *command);
/* Clears the reply and parses the command, perhaps again. */
enum status command_begin(struct command *command, void *service);
/* Calls the reply hook. */
enum status command_finish(struct command *command, struct db *db, void *service);
/* Clears the reply and makes it one of the actor's own failures. */
void command_fail(struct command *command, enum outcome outcome);

#endif
