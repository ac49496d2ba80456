/*
 * verify - holds the trail against its seal, block by block and then entry by entry.
 *
 * What     First along the chain: every block follows the one before, is signed, and every entry
 *          that it names is there and unchanged. Then along the entries: every one that must be in
 *          a block is. What is found first is named.
 * Threads  Any; pure.
 */
#ifndef SERVICES_AUDIT_VERIFY_H
#define SERVICES_AUDIT_VERIFY_H

#include "services/audit/block.h"
#include "services/audit/keys.h"

enum verify_kind {
    VERIFY_FINE,
    VERIFY_CHANGED,      /* the entry differs from what was sealed */
    VERIFY_REMOVED,      /* it was sealed and is not there */
    VERIFY_SLIPPED_IN,   /* it is there and was never sealed, nor can it be waiting for that */
    VERIFY_REWRITTEN,    /* the chain itself is another one, from this block on */
    VERIFY_NOT_COMPARED, /* all is well but for a given head, whose block is not kept any more */
};

const char *verify_kind_name(enum verify_kind kind);

struct verify_finding {
    enum verify_kind kind;
    struct uuid request_id; /* nil = no entry in particular */
    int64_t block;          /* 0 = none */
    const char *detail;
};

/* How far the chain has been walked. */
struct verify_chain {
    int64_t number, entries;
    uint8_t hash[SHA256_BYTES];
    int64_t expired;  /* sealed entries that retention has dropped */
    bool is_head_met; /* the block whose hash was given has been walked */
};

/* What the trail holds today in the place of one sealed entry. */
struct verify_entry {
    bool is_there;
    uint8_t hash[SHA256_BYTES];
};

struct verify_block {
    struct chain_block sealed;
    struct uuid last_request_id;
    uint8_t hash[SHA256_BYTES];
    uint8_t signature[SIGNING_SIGNATURE_BYTES];
    /* Its hash as it was published; NULL = it was not, or nobody has kept it. The first is the
       database's own note, the second comes from whoever asks. */
    const uint8_t *published_hash, *kept_hash;
    const struct verify_entry *entries; /* as many as are sealed in it */
};

/* `dropped_us`: entries from before have been dropped; 0 = none have. */
bool verify_block(struct verify_chain *chain, const struct verify_block *block,
                  const struct audit_keys *keys, int64_t dropped_us, struct arena *arena,
                  struct verify_finding *out);

/* The chain ends there, although a head of that number is known. */
bool verify_end(const struct verify_chain *chain, int64_t head_number, struct verify_finding *out);

/* For the very end, where a head was given: whether its block is one that was walked. */
bool verify_given_head(const struct verify_chain *chain, int64_t head_number,
                       struct verify_finding *out);

/* An entry and the block in whose reach it lies. */
struct verify_covered {
    struct block_entry entry;
    int64_t block; /* 0 = it is behind the last one */
    bool is_sealed;
    bool is_ahead; /* its transaction had not begun when the entry was read */
};

/* How far everything was sealed before the entries were read. */
struct verify_seal {
    struct block_place place;
    uint64_t made_xid;       /* of the last block: what later transactions wrote ... */
    int64_t made_us, now_us; /* ... is not older than the block */
};

/* True with *is_waiting: not sealed, but nor has it to be yet. */
bool verify_covered(const struct verify_covered *covered, const struct verify_seal *seal,
                    bool *is_waiting, struct verify_finding *out);

#endif
