/*
 * verify_block - a block as it was found: read from a row, and whether it is one of ours.
 *
 * Owns     Nothing: values live in the arena.
 * Threads  Any; pure. verify_read_block() runs on the db's.
 */
#ifndef SERVICES_AUDIT_VERIFY_BLOCK_H
#define SERVICES_AUDIT_VERIFY_BLOCK_H

#include "common/db/db.h"
#include "services/audit/chain.h"

/* What the audit log now has for one sealed entry. */
struct verify_entry {
    bool is_there;
    uint8_t hash[SHA256_BYTES];
};

struct verify_block {
    struct chain_block sealed;
    struct uuid last_request_id;
    uint8_t hash[SHA256_BYTES];
    uint8_t signature[SIGNING_SIGNATURE_BYTES];
    /* Its hash as published, recorded in the database; and as the operator kept it, given with the
       command. NULL = none. */
    const uint8_t *published_hash, *kept_hash;
    const struct verify_entry *entries; /* sealed.n of them */
};

/* `verify.*`: the first columns of a statement that reads whole blocks. */
enum verify_column {
    VERIFY_NUMBER,
    VERIFY_PREVIOUS_HASH,
    VERIFY_ENTRIES,
    VERIFY_LAST_XID,
    VERIFY_LAST_REQUEST_ID,
    VERIFY_MADE_XID,
    VERIFY_MADE_US,
    VERIFY_KEY_ID,
    VERIFY_BLOCK_HASH,
    VERIFY_SIGNATURE,
    VERIFY_REQUEST_IDS,
    VERIFY_ENTRY_HASHES,
    VERIFY_IMPLAUSIBLE_PLACES,
    VERIFY_IMPLAUSIBLE_US,
    VERIFY_COLUMNS
};

/* Reads all but the organization, the entries, and the hashes that were published or kept. Values
   live in the arena. False: we cannot have written the row. */
MUST_CHECK bool verify_read_block(const struct db_rows *rows, size_t row, struct arena *arena,
                                  struct verify_block *out);

/* The block matches its hash, regardless of the signature. */
bool verify_is_whole(const struct verify_block *block, struct arena *arena);

/* NULL, or why the block, by itself, is not one that we have made and signed. */
const char *verify_doubt(const struct verify_block *block, const struct audit_keys *keys,
                         struct arena *arena);

#endif
