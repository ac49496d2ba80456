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
#include "services/audit/verify_block.h"
#include "services/audit/verify_report.h"

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

#endif
