/*
 * chain - what is hashed, and how: entries, blocks of entries, the heads of chains.
 *
 * What     docs/audit.md describes the same for others, who verify without us. All that is hashed
 *          is text, one line for each field, except for the contents of a block.
 * Threads  Any; pure.
 */
#ifndef SERVICES_AUDIT_CHAIN_H
#define SERVICES_AUDIT_CHAIN_H

#include "common/base/arena.h"
#include "common/base/uuid.h"
#include "common/crypto/crypto.h"
#include "common/crypto/signing.h"

/* An entry's fields as the database writes them, in the order in which they are hashed. */
enum chain_field {
    CHAIN_ORGANIZATION_ID,
    CHAIN_REQUEST_ID,
    CHAIN_CREATED_US, /* Unix microseconds */
    CHAIN_API_KEY_ID,
    CHAIN_OPERATION,
    CHAIN_HTTP_STATUS,
    CHAIN_OUTCOME,
    CHAIN_DENIAL_REASON,
    CHAIN_CONVERSATION_ID,
    CHAIN_CONTACT_ID,
    CHAIN_XID,
    CHAIN_FIELDS
};

/* STR_NONE is SQL NULL. */
void chain_hash_entry(const struct str fields[CHAIN_FIELDS], struct arena *arena,
                      uint8_t hash[SHA256_BYTES]);

#define CHAIN_KEY_ID_MAX 64

struct chain_item {
    struct uuid request_id;
    uint8_t hash[SHA256_BYTES];
};

/* An entry of a block that no service can have appended as it was found: its place, from 1, and its
   created_at, which need not be the time in its id. */
struct chain_mark {
    int64_t place, created_us;
};

struct chain_block {
    struct uuid organization_id;
    int64_t number;                      /* from 1 */
    uint8_t previous_hash[SHA256_BYTES]; /* zeros before the first */
    int64_t entries;                     /* in the chain, with those of this block */
    uint64_t last_xid, made_xid;
    int64_t made_us;
    struct str key_id;
    const struct chain_item *items; /* in the order of sealing; at least one */
    size_t n;
    const struct chain_mark *marks; /* in the order of their places */
    size_t n_marks;
};

void chain_hash_block(const struct chain_block *block, struct arena *arena,
                      uint8_t hash[SHA256_BYTES]);

/* What is signed of a block, so that a published head names its chain. */
struct str chain_head_text(const struct uuid *organization_id, int64_t number, int64_t entries,
                           const uint8_t block_hash[SHA256_BYTES], struct arena *arena);

/* Gateways' clocks and the database's may differ by this much, a request's own time included. */
#define CHAIN_CLOCK_US (60 * 1000 * 1000LL)

/* Whether an entry can be one that a service has appended: its time is the one in its id, and lies
   between `since_us`, before which its transaction cannot have begun, and now. Others are sealed
   with a mark, and verifying names them. */
bool chain_is_plausible(const struct uuid *request_id, int64_t created_us, int64_t since_us,
                        int64_t now_us);

#endif
