/*
 * verify - checks the audit log against its seal, block by block and then entry by entry.
 *
 * What     First along the chain: every block follows the one before, is signed, and every entry
 *          that it names exists and is unchanged. Then along the entries: every entry that must be
 *          in a block is in one, once. Findings are counted by kind, with details of the first of
 *          each kind, and the walk continues.
 * Threads  Any; pure. Functions that read rows run on the db's.
 */
#ifndef SERVICES_AUDIT_VERIFY_H
#define SERVICES_AUDIT_VERIFY_H

#include "common/db/db.h"
#include "services/audit/chain.h"

/* -- findings ---------------------------------------------------------------------------------- */

enum verify_kind {
    VERIFY_CHANGED,      /* the entry differs from the sealed one */
    VERIFY_REMOVED,      /* it was sealed and does not exist */
    VERIFY_INSERTED,     /* it exists, was never sealed, and cannot be waiting for its seal */
    VERIFY_REWRITTEN,    /* the chain itself differs, from this block on */
    VERIFY_IMPLAUSIBLE,  /* it was sealed as found, but no service can have appended it so */
    VERIFY_MISDATED,     /* likewise, unless its clock was wrong */
    VERIFY_NOT_SEALED,   /* it has waited longer for its seal than possible if sealing works */
    VERIFY_NOT_COMPARED, /* nothing was found, but the block of a given head has been dropped */
    VERIFY_FORGED_NOTE,  /* a retention note that we have not made as it is */
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
    enum verify_kind first; /* of the first finding of all, if there is any */
};

bool verify_is_fine(const struct verify_report *report);
void verify_find(struct verify_report *report, enum verify_kind kind, const struct uuid *request_id,
                 int64_t block, const char *detail);

/* -- along the chain --------------------------------------------------------------------------- */

/* How far the chain has been walked. */
struct verify_chain {
    int64_t first;   /* number of the first block that was met; 0 = none yet */
    int64_t number;  /* of the last block that was met; the next one must have one more */
    int64_t entries; /* in the chain, by the last block of ours */
    uint8_t hash[SHA256_BYTES];
    bool is_broken;   /* what the next block must follow is unknown, so that is not checked */
    int64_t present;  /* entries that blocks name and that exist */
    int64_t expired;  /* entries that retention has dropped */
    bool is_head_met; /* the block with the given hash has been walked */
};

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

/* The block matches its hash, regardless of the signature. */
bool verify_is_whole(const struct verify_block *block, struct arena *arena);

/* NULL, or why the block, by itself, is not one that we have made and signed. */
const char *verify_doubt(const struct verify_block *block, const struct audit_keys *keys,
                         struct arena *arena);

/* `dropped_us`: entries older than this have been dropped; 0 = none. */
void verify_block(struct verify_chain *chain, const struct verify_block *block,
                  const struct audit_keys *keys, int64_t dropped_us, struct arena *arena,
                  struct verify_report *report);

/* The same for a block that cannot be read. */
void verify_malformed(struct verify_chain *chain, int64_t number, struct verify_report *report);

/* At the end of the chain: reports blocks as missing if a head with a higher number was published
   or `given`; 0 = no such head. */
void verify_end(const struct verify_chain *chain, int64_t published, int64_t given,
                struct verify_report *report);

/* The notes of what retention has dropped, the latest first. */
void verify_notes(const struct note *notes, size_t n, const struct audit_keys *keys,
                  struct arena *arena, struct verify_report *report);

/* Last of all, if a head was given: reports it as not compared, if nothing was found and its block
   was not walked. */
void verify_given_head(const struct verify_chain *chain, int64_t head_number,
                       struct verify_report *report);

/* -- along the entries ------------------------------------------------------------------------- */

/* An entry, and the block that names it or else the block that covers its place. */
struct verify_covered {
    struct block_entry entry; /* is_implausible: the block has a mark for it */
    int64_t block;            /* 0 = it is after the last block */
    bool is_sealed;           /* the block names it */
    bool is_known;            /* the block names its id, with another time */
    bool is_ahead;            /* its transaction had not begun when the entry was read */
    bool is_moving;           /* a move between cells pauses the seal of its organization */
    bool is_unreadable;       /* its id, transaction or time cannot be read */
};

/* Entries wait one to four seconds for their seal, or longer while an older transaction runs. */
#define VERIFY_WAIT_US (60 * 1000 * 1000LL)

/* How far everything was sealed before the entries were read. */
struct verify_seal {
    struct block_place place;
    uint64_t made_xid;       /* of the last block: entries of later transactions ... */
    int64_t made_us, now_us; /* ... are not older than made_us */
    int64_t walked;          /* the chain was walked up to this block */
};

/* True: a block names the entry. False: it waits for its seal, or was reported. */
bool verify_covered(const struct verify_covered *covered, const struct verify_seal *seal,
                    struct verify_report *report);

/* Compares the number of entries that walked blocks name with `met`, the number of those that the
   walk along the entries met. `is_settled`: retention has dropped nothing meanwhile. */
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

/* Reads all but the organization, the entries, and the hashes that were published or kept. Values
   live in the arena. False: we cannot have written the row. */
MUST_CHECK bool verify_read_block(const struct db_rows *rows, size_t row, struct arena *arena,
                                  struct verify_block *out);

#endif
