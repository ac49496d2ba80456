/*
 * audit_log - appends to the audit log (table audit.entries) and to the log of changes (table
 * audit.changes: who changed what, when and how) in the transaction of the work itself.
 *
 * What     The audit sink of most services.
 *          For every command with an operation in its handler and an audited outcome
 *          (proto/outcome.def) it adds one entry; all entries of a batch go into one INSERT. An
 *          entry's id is the id of the request, so each request has exactly one. A second entry with
 *          the same id fails the transaction: once the gateway has sent and recorded its own answer,
 *          the command cannot be carried out any more.
 *          For every command that succeeded and changed something, and whose handler has a change,
 *          it adds one row to the log of changes. Target and detail come from the request and the
 *          reply (proto/change.def), and from the handler (command_note()). A change without
 *          User-Email was made by an operator with convctl.
 * Owns     Everything is allocated in the arena.
 * Threads  The actor's.
 * Fails    Never: a value that is too long for a detail is recorded as its size.
 */
#ifndef COMMON_AUDIT_LOG_AUDIT_LOG_H
#define COMMON_AUDIT_LOG_AUDIT_LOG_H

#include "common/actor/actor.h"

extern const struct audit_sink audit_log;

/* -- entries ----------------------------------------------------------------------------------- */

/* The parts, for the audit service, which records requests that the gateway answered by itself. */
struct audit_log_entry {
    struct uuid organization_id, request_id, api_key_id;
    enum operation operation;
    int http_status;
    const char *error_code;                  /* NULL for 2xx */
    struct uuid conversation_id, contact_id; /* nil = null */
};

/* The parameters of a statement that appends entries, from $1 on: each is an array with one element
   for each entry, in binary format. See sql/append_entries.sql. */
enum audit_log_column {
    AUDIT_LOG_ORGANIZATION_ID, /* uuid[] */
    AUDIT_LOG_CREATED_AT,      /* timestamptz[]: the Unix milliseconds in the request id */
    AUDIT_LOG_REQUEST_ID,      /* uuid[] */
    AUDIT_LOG_API_KEY_ID,      /* uuid[] */
    AUDIT_LOG_OPERATION,       /* text[] */
    AUDIT_LOG_HTTP_STATUS,     /* smallint[] */
    AUDIT_LOG_OUTCOME,         /* text[] */
    AUDIT_LOG_DENIAL_REASON,   /* text[], NULL unless denied */
    AUDIT_LOG_CONVERSATION_ID, /* uuid[], NULL: none */
    AUDIT_LOG_CONTACT_ID,      /* likewise */
    AUDIT_LOG_COLUMNS
};

/* "allowed", "denied", "rejected" or "error". */
const char *audit_log_outcome(int http_status);
/* Queues one statement for all entries; `n` is at least 1. */
void audit_log_add(struct db *db, int statement, const struct audit_log_entry *entries, size_t n,
                   struct arena *arena);

/* Makes the entry of a command; false = it has none. */
typedef bool (*audit_log_entry_fn)(const struct command *command, struct audit_log_entry *out);
bool audit_log_entry_of(const struct command *command, struct audit_log_entry *out);
/* The `add` of an audit sink: adds the entries that `entry_of` makes, and the changes. */
void audit_log_write(struct db *db, const struct audit_statements *statements,
                     struct command *const *commands, size_t n, struct arena *arena,
                     audit_log_entry_fn entry_of);

/* -- changes ----------------------------------------------------------------------------------- */

#define CHANGE_LOG_VALUE_MAX 1024 /* bytes of JSON; a larger value is recorded as its size */

struct change_entry {
    struct str target; /* STR_NONE = none */
    struct str detail; /* a JSON object */
};

/* Makes the row of the log of changes for a command that succeeded. */
struct change_entry change_entry_of(const struct command *command, struct arena *arena);

/* Queues `statement` (sql/append_changes.sql, or another with the same parameters) for those of
   `commands` that must be recorded, if any. */
void change_log_add(struct db *db, int statement, struct command *const *commands, size_t n,
                    struct arena *arena);

#endif
