/*
 * verify - holds the audit log against its seal, block by block and then entry by entry.
 *
 * What     First along the chain: every block follows the one before, is signed, and every entry
 *          that it names is there and unchanged. Then along the entries: every one that must be in
 *          a block is, once. Findings are counted by kind, the first of each kind is named, and the
 *          walk goes on.
 * Threads  Any; pure. What reads rows is the db's.
 */
#ifndef SERVICES_AUDIT_VERIFY_H
#define SERVICES_AUDIT_VERIFY_H

#include "common/db/db.h"
#include "services/audit/chain.h"

/* -- findings ---------------------------------------------------------------------------------- */

enum verify_kind {
    VERIFY_CHANGED,       /* the entry differs from the sealed one */
    VERIFY_REMOVED,       /* it was sealed and is not there */
    VERIFY_INSERTED,      /* it is there and was never sealed, nor can it be waiting for that */
    VERIFY_REWRITTEN,     /* the chain itself differs, from this block on */
    VERIFY_IMPLAUSIBLE,   /* it is sealed as it was found, but no service can have appended it so */
    VERIFY_NOT_SEALED,    /* it waits for its seal for longer than it can, if sealing goes on */
    VERIFY_NOT_COMPARED,  /* all is well, but the block of a given head is not kept any more */
    VERIFY_FORGED_NOTE,   /* a note of what retention dropped that we have not made so */
    VERIFY_UNSIGNED_NOTE, /* one without a signature: nothing can tell who made it */
    VERIFY_KINDS
};

const char *verify_kind_name(enum verify_kind kind);

struct verify_finding {
    int64_t count;
    /* Of the first: */
    struct uuid request_id; /* nil = no entry in particular */
    int64_t block;          /* 0 = none */
    struct str detail;
    int64_t age_s; /* of the oldest; 0 = not given for this kind */
};

struct verify_report {
    struct verify_finding of[VERIFY_KINDS];
    enum verify_kind first; /* found before all others, if anything was */
};

bool verify_is_fine(const struct verify_report *report);
void verify_find(struct verify_report *report, enum verify_kind kind, const struct uuid *request_id,
                 int64_t block, const char *detail);

/* -- along the chain --------------------------------------------------------------------------- */

/* How far the chain has been walked. */
struct verify_chain {
    int64_t first;   /* number of the first block that was there; 0 = none yet */
    int64_t number;  /* of the last one that was looked at; what comes next is one more */
    int64_t entries; /* in the chain, as the last block says that was ours */
    uint8_t hash[SHA256_BYTES];
    bool is_broken;   /* what the next block follows is not known: it is not held against that */
    int64_t present;  /* entries that are named and there */
    int64_t expired;  /* those that retention has dropped */
    bool is_head_met; /* the block with the given hash has been walked */
};

/* What the audit log holds today in the place of one sealed entry. */
struct verify_entry {
    bool is_there;
    uint8_t hash[SHA256_BYTES];
};

struct verify_block {
    struct chain_block sealed;
    struct uuid last_request_id;
    uint8_t hash[SHA256_BYTES];
    uint8_t signature[SIGNING_SIGNATURE_BYTES];
    /* Its hash as it was published; NULL = it was not, or was not kept. The first is recorded in
       the database, the second comes with the request. */
    const uint8_t *published_hash, *kept_hash;
    const struct verify_entry *entries; /* as many as are sealed in it */
};

/* The block matches its hash, regardless of the signature. */
bool verify_is_whole(const struct verify_block *block, struct arena *arena);

/* NULL, or why the block by itself is not one that we have made and signed. */
const char *verify_doubt(const struct verify_block *block, const struct audit_keys *keys,
                         struct arena *arena);

/* `dropped_us`: entries from before have been dropped; 0 = none have. */
void verify_block(struct verify_chain *chain, const struct verify_block *block,
                  const struct audit_keys *keys, int64_t dropped_us, struct arena *arena,
                  struct verify_report *report);

/* The next block is there, but cannot be read. */
void verify_malformed(struct verify_chain *chain, int64_t number, struct verify_report *report);

/* The chain ends there: whether a head is known of a higher number, published or `given`; 0 = no
   such head. */
void verify_end(const struct verify_chain *chain, int64_t published, int64_t given,
                struct verify_report *report);

/* The notes of what retention has dropped, the latest first. */
void verify_notes(const struct note *notes, size_t n, const struct audit_keys *keys,
                  struct arena *arena, struct verify_report *report);

/* For the very end, where a head was given and nothing was found: whether its block was walked. */
void verify_given_head(const struct verify_chain *chain, int64_t head_number,
                       struct verify_report *report);

/* -- along the entries ------------------------------------------------------------------------- */

/* An entry and the block that names it, or else the block that reaches over it. */
struct verify_covered {
    struct block_entry entry; /* is_implausible: the block has a mark for it */
    int64_t block;            /* 0 = it is behind the last one */
    bool is_sealed;
    bool is_known;  /* that block names its id, with another time */
    bool is_ahead;  /* its transaction had not begun when the entry was read */
    bool is_moving; /* the seal passes over its organization until a move between cells goes on */
    bool is_unreadable; /* it lacks the key of the order of sealing, or its time is no number */
};

/* Entries wait for their seal for a second, and for transactions that began before theirs. */
#define VERIFY_WAIT_US (60 * 1000 * 1000LL)

/* How far everything was sealed before the entries were read. */
struct verify_seal {
    struct block_place place;
    uint64_t made_xid;       /* of the last block: what later transactions wrote ... */
    int64_t made_us, now_us; /* ... is not older than the block */
    int64_t walked;          /* the chain up to this block; younger ones have not been looked at */
};

/* True: a block names the entry. False: it waits for its seal, or was reported. */
bool verify_covered(const struct verify_covered *covered, const struct verify_seal *seal,
                    struct verify_report *report);

/* The walk along the entries met so many that a block names which was walked. `is_settled`:
   retention has dropped nothing meanwhile. */
void verify_count(const struct verify_chain *chain, int64_t met, bool is_settled,
                  struct verify_report *report);

/* -- blocks from rows of the database ---------------------------------------------------------- */

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

/* All but its organization, its entries, and facts about its hash. Values live in the arena.
   False: we cannot have written the row. */
MUST_CHECK bool verify_read_block(const struct db_rows *rows, size_t row, struct arena *arena,
                                  struct verify_block *out);

#endif
