/*
 * verify_step - one step of verifying, from the body of its command to the reply.
 *
 * What     The body is the position from the last reply, with all findings so far: the service
 *          keeps no state. A walk that begins at a block follows the chain from there, and then all
 *          entries; one that begins after an entry follows the entries only.
 * Threads  The actor's.
 */
#ifndef SERVICES_AUDIT_VERIFY_STEP_H
#define SERVICES_AUDIT_VERIFY_STEP_H

#include "common/actor/command.h"
#include "common/db/db.h"
#include "services/audit/verify.h"

struct verify_step {
    struct verify_chain chain;
    bool is_along_entries, is_done;
    bool is_part;   /* the chain is not walked from its beginning */
    bool has_begun; /* `after` is the entry that was looked at last */
    struct str at;  /* its created_at, as the database writes it */
    struct uuid after;
    int64_t after_us;        /* its time, which need not be the one in its id */
    int64_t entries, sealed; /* entries looked at; of these, those that a block names */
    int64_t met;             /* of these, those that a walked block names */
    int64_t dropped_us;      /* how far retention had dropped entries when the walk began */
    int64_t head_number;     /* a head that the operator has kept; 0 = none */
    uint8_t head_hash[SHA256_BYTES];
    struct verify_report report;
    size_t before, first, second, third, fourth; /* statements */
};

/* False: the command has been refused. */
MUST_CHECK bool verify_step_read(struct command *command, struct verify_step *out);

/* Appends the reply. `head` is the row of read_head.sql; NULL if that was not queried. */
void verify_step_write(const struct verify_step *step, const struct db_rows *head,
                       const struct audit_keys *keys, struct buf *out);

#endif
