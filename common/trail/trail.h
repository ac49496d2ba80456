/*
 * trail - appends to the audit trail (table audit.entries) in the transaction of the work itself.
 *
 * What     The ledger that services hand to their actors. For every command whose route has an
 *          operation and whose outcome is audited (proto/outcome.def) it adds one row; all rows of
 *          a batch go in one INSERT. An entry's id is the request's id: exactly one entry a
 *          request, and a second one for the same id fails the transaction, so that a command whose
 *          answer has been given and recorded by the gateway is not executed after all.
 * Threads  The actor's.
 */
#ifndef COMMON_TRAIL_TRAIL_H
#define COMMON_TRAIL_TRAIL_H

#include "common/actor/actor.h"

extern const struct ledger trail;

/* The pieces, for the audit service, which records what the gateway answered by itself. */
struct trail_entry {
    struct uuid organization_id, request_id, api_key_id;
    enum operation operation;
    int http_status;
    const char *error_code;                  /* NULL for 2xx */
    struct uuid conversation_id, contact_id; /* nil = null */
};

/* The parameters of a statement that appends entries, $1 first: each is an array in text format
   with one element an entry. sql/append_entries.sql is the pattern. */
enum trail_column {
    TRAIL_ORGANIZATION_ID, /* uuid[] */
    TRAIL_CREATED_MS,      /* bigint[]: the Unix milliseconds in the request id */
    TRAIL_REQUEST_ID,      /* uuid[] */
    TRAIL_API_KEY_ID,      /* uuid[] */
    TRAIL_OPERATION,       /* text[] */
    TRAIL_HTTP_STATUS,     /* smallint[] */
    TRAIL_OUTCOME,         /* text[] */
    TRAIL_DENIAL_REASON,   /* text[], NULL unless denied */
    TRAIL_CONVERSATION_ID, /* uuid[], NULL where there is none */
    TRAIL_CONTACT_ID,      /* uuid[], the same */
    TRAIL_COLUMNS
};

/* "allowed", "denied", "rejected" or "error". */
const char *trail_outcome(int http_status);
/* Queues one statement for all entries; `n` is at least 1. */
void trail_add(struct db *db, int statement, const struct trail_entry *entries, size_t n,
               struct arena *arena);

/* What a command is recorded as; false = it has no entry. */
typedef bool (*trail_entry_fn)(const struct command *command, struct trail_entry *out);
bool trail_entry_of(const struct command *command, struct trail_entry *out);
/* A ledger's `add`: the entries that `entry_of` makes, and the changes. */
void trail_record(struct db *db, int statement, struct command *const *commands, size_t n,
                  struct arena *arena, trail_entry_fn entry_of);

#endif
