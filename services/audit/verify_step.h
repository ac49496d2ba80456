/*
 * verify_step - one step of verifying, from the body of its command to the answer.
 *
 * Threads  The actor's.
 */
#ifndef SERVICES_AUDIT_VERIFY_STEP_H
#define SERVICES_AUDIT_VERIFY_STEP_H

#include "common/db/db.h"
#include "common/wire/fields.h"
#include "services/audit/verify.h"

/* The body: the position of the last answer, or nothing of it at the beginning. */
struct verify_position {
    struct str phase;                         /* STR_NONE = the chain, from its beginning */
    struct field_int block, chained, expired; /* along the chain */
    struct str hash;
    struct field_int after_us, entries, sealed; /* along the entries */
    struct str after;
    struct field_int head_number; /* a head that whoever asks has kept */
    struct str head_hash;
    struct field_bool head_met; /* its block has been walked */
};

struct verify_step {
    struct verify_position from;
    struct verify_chain chain;
    uint8_t kept_hash[SHA256_BYTES];
    bool is_along_entries, is_done;
    struct uuid after;
    int64_t after_us, entries, sealed;
    struct verify_finding found;
    size_t before, first, second, third; /* statements */
};

/* Appends the answer. `head` is the row of read_head.sql; NULL while it has not been asked for. */
void verify_write(const struct verify_step *step, const struct db_rows *head,
                  const struct audit_keys *keys, struct buf *out);

#endif
