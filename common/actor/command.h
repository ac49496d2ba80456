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

/* Who asks; filled from the headers (proto/headers.h). Absent ids are nil. */
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
    enum outcome outcome;   /* OUTCOME_OK unless the handler says otherwise */
    struct buf reply;       /* body when the outcome is a success */
    struct errors errors;   /* when it is not */
    unsigned retry_after_s; /* told beside a refusal; 0 = not */

    /* What the audit entry shall name; nil = null. */
    struct uuid conversation_id, contact_id;

    /* For the log of changes, what neither request nor reply says as proto/change.def has it:
       STR_NONE and empty unless the handler says otherwise. */
    bool is_no_change; /* no-op: nothing changed, so no change is audited */
    struct str change_target;
    struct buf change_detail; /* see command_note() */

    /* The audit log had an entry for the request, which stays as it is: set by the audit sink, if
       at all.
     */
    bool is_recorded_already;

    void *input; /* the body, as the handler's fields read it */
    void *state; /* what else the handler keeps between its steps */

    /* Where two commands of one batch want the same rows, they are run in the order of this key
       (then of arrival), in every replica alike, so that batches cannot deadlock. 0 = no matter. */
    uint64_t lock_order;

    /* What it took, for fairness between organizations: in units of some 20 microseconds of a
       database backend, which is what a get takes. 0 until it is parsed, and then 1 unless the
       reply hook finds that it was more; the bytes of a reply, and of a body that is written, are
       added. */
    uint32_t cost;

    /* The subject of a notice to publish after the commit (no body, the caller's organization
       in the header); NULL = none. */
    const char *notice;
};

/* Refuses with one error; returns ST_REFUSED so that it can be returned in one line. The error
   code is the outcome's. `field` may be NULL. */
enum status command_refuse(struct command *command, enum outcome outcome, const char *field,
                           const char *message, ...) __attribute__((format(printf, 4, 5)));
/* Refuses with what command->errors holds already. */
enum status command_refuse_all(struct command *command, enum outcome outcome);
/* Puts a member into the detail of the change; never a secret. STR_NONE is left out. */
void command_note(struct command *command, const char *name, struct str value);

#endif
