/*
 * audit_log - appends to the audit log (table audit.entries) and to the log of changes (table
 * audit.changes: who changed what, when and how) in the transaction of the work itself.
 *
 * What     The audit sink that services hand to their actors.
 *          For every command with an operation in its handler and an outcome that is audited
 *          (proto/outcome.def) it adds one entry; all entries of a batch go in one INSERT. An
 *          entry's id is the request's id: exactly one entry a request, and a second one for the
 *          same id fails the transaction, so that a command is not executed after all when the
 *          gateway has given and recorded its answer.
 *          For every command that succeeded and changed something, with a change that its handler
 *          names, it adds one row to the log of changes. That takes its target and detail from the
 *          request and the reply as proto/change.def has it, and from what the handler noted
 *          (command_note()). Without User-Email it was an operator, by convctl.
 * Owns     Everything is made in the arena.
 * Threads  The actor's.
 * Fails    Never: a value that is too long for a detail is put down as its size.
 */
#ifndef COMMON_AUDIT_LOG_AUDIT_LOG_H
#define COMMON_AUDIT_LOG_AUDIT_LOG_H

#include "common/actor/actor.h"

extern const struct audit_sink audit_log;

/* -- entries ----------------------------------------------------------------------------------- */

/* The pieces, for the audit service, which records what the gateway answered by itself. */
struct audit_log_entry {
    struct uuid organization_id, request_id, api_key_id;
    enum operation operation;
    int http_status;
    const char *error_code;                  /* NULL for 2xx */
    struct uuid conversation_id, contact_id; /* nil = null */
};

/* The parameters of a statement that appends entries, $1 first: each is an array with one element
   an entry, in binary format. sql/append_entries.sql is the pattern. */
enum audit_log_column {
    AUDIT_LOG_ORGANIZATION_ID, /* uuid[] */
    AUDIT_LOG_CREATED_AT,      /* timestamptz[]: the Unix milliseconds in the request id */
    AUDIT_LOG_REQUEST_ID,      /* uuid[] */
    AUDIT_LOG_API_KEY_ID,      /* uuid[] */
    AUDIT_LOG_OPERATION,       /* text[] */
    AUDIT_LOG_HTTP_STATUS,     /* smallint[] */
    AUDIT_LOG_OUTCOME,         /* text[] */
    AUDIT_LOG_DENIAL_REASON,   /* text[], NULL unless denied */
    AUDIT_LOG_CONVERSATION_ID, /* uuid[], NULL where there is none */
    AUDIT_LOG_CONTACT_ID,      /* uuid[], the same */
    AUDIT_LOG_COLUMNS
};

/* "allowed", "denied", "rejected" or "error". */
const char *audit_log_outcome(int http_status);
/* Queues one statement for all entries; `n` is at least 1. */
void audit_log_add(struct db *db, int statement, const struct audit_log_entry *entries, size_t n,
                   struct arena *arena);

/* What a command is recorded as; false = it has no entry. */
typedef bool (*audit_log_entry_fn)(const struct command *command, struct audit_log_entry *out);
bool audit_log_entry_of(const struct command *command, struct audit_log_entry *out);
/* The `add` of an audit sink: the entries that `entry_of` makes, and the changes. */
void audit_log_write(struct db *db, const struct audit_statements *statements,
                     struct command *const *commands, size_t n, struct arena *arena,
                     audit_log_entry_fn entry_of);

/* -- changes ----------------------------------------------------------------------------------- */

#define CHANGE_LOG_VALUE_MAX 1024 /* bytes of JSON; no more of one value stand in a detail */

struct change_entry {
    struct str target; /* STR_NONE = nothing in particular */
    struct str detail; /* a JSON object */
};

/* The change of a command that succeeded, as it is recorded. */
struct change_entry change_entry_of(const struct command *command, struct arena *arena);

/* Queues `statement` (sql/append_changes.sql, or another with its parameters) for those of `commands`
   that are to be recorded, if there are any. */
void change_log_add(struct db *db, int statement, struct command *const *commands, size_t n,
                    struct arena *arena);

#endif
