/*
 * verify_step - one step of verifying, from the body of its command to the answer.
 *
 * What     The body is the position of the last answer, with all that has been found so far:
 *          nothing is kept here. A walk that begins at a block goes along the chain from there, and
 *          then along all entries; one that begins behind an entry goes along the entries only.
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
    bool is_part;   /* the chain has not been walked from its beginning */
    bool has_begun; /* `after` is the entry that was looked at last */
    struct str at;  /* its created_at, as the database writes it */
    struct uuid after;
    int64_t after_us;        /* its time, which need not be the one in its id */
    int64_t entries, sealed; /* that were looked at; of them, those that a block names */
    int64_t met;             /* of these, those with a block that was walked */
    int64_t dropped_us;      /* what retention had dropped when the walk began */
    int64_t head_number;     /* a head that the operator has kept; 0 = none */
    uint8_t head_hash[SHA256_BYTES];
    struct verify_report report;
    size_t before, first, second, third, fourth; /* statements */
};

/* False: the command has been refused. */
MUST_CHECK bool verify_step_read(struct command *command, struct verify_step *out);

/* Appends the answer. `head` is the row of read_head.sql; NULL while it has not been asked for. */
void verify_step_write(const struct verify_step *step, const struct db_rows *head,
                       const struct audit_keys *keys, struct buf *out);

#endif
