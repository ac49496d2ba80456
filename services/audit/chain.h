/*
 * chain - the audit log as it is sealed: its entries, how they are hashed, the keys that sign, the
 * blocks that follow in a chain, and the notes of what retention has dropped.
 *
 * What     docs/audit.md describes the same for others, who verify without us.
 * Owns     Results live in the arena.
 * Threads  Any; pure. Keys are read-only after start, but for signing, which is the sealer's.
 */
#ifndef SERVICES_AUDIT_CHAIN_H
#define SERVICES_AUDIT_CHAIN_H

#include "common/base/arena.h"
#include "common/base/buf.h"
#include "common/base/uuid.h"
#include "common/crypto/crypto.h"
#include "common/crypto/signing.h"
#include "common/db/db.h"

/* -- entries as readers see them --------------------------------------------------------------- */

/* `entry.*`: the first columns of a statement that lists entries. */
enum entry_column {
    ENTRY_REQUEST_ID,
    ENTRY_API_KEY_ID,
    ENTRY_OPERATION,
    ENTRY_HTTP_STATUS,
    ENTRY_OUTCOME,
    ENTRY_DENIAL_REASON,
    ENTRY_CONVERSATION_ID,
    ENTRY_CONTACT_ID,
    ENTRY_CREATED_US, /* Unix microseconds */
    ENTRY_COLUMNS
};

/* Unix microseconds as audit.us() writes them; anything else leaves *us as it is. */
bool chain_read_us(struct str text, int64_t *us);

/* Appends the audit_log object. */
void entry_write(const struct db_rows *rows, size_t row, struct buf *out);

/* -- keys -------------------------------------------------------------------------------------- */

#define AUDIT_KEYS_MAX 16

/* The key that signs blocks, and those that have signed before or will. */
struct audit_keys {
    struct signing_key *own;
    struct signing_public known[AUDIT_KEYS_MAX]; /* the own one first */
    size_t n;
};

/* `previous` holds public keys in hex between commas. False (logged): one of them is malformed. */
MUST_CHECK bool audit_keys_read(const char *secret, const char *previous, struct audit_keys *out);
/* NULL: it is not a known one. */
const struct signing_public *audit_keys_find(const struct audit_keys *keys, struct str id);

/* -- hashed texts ------------------------------------------------------------------------------ */

/* Hashes are over text, one line for each field, except for the contents of a block. */

/* `chain.*`: an entry's fields as the database writes them, in the order in which they are hashed. */
enum chain_column {
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
    CHAIN_COLUMNS
};

/* STR_NONE is SQL NULL. */
void chain_hash_entry(const struct str fields[CHAIN_COLUMNS], struct arena *arena,
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

/* The signed text of a block: it makes a published head name its chain. */
struct str chain_head_text(const struct uuid *organization_id, int64_t number, int64_t entries,
                           const uint8_t block_hash[SHA256_BYTES], struct arena *arena);

/* Gateways' clocks and the database's may differ by this much, a request's own time included. */
#define CHAIN_CLOCK_US (60 * 1000 * 1000LL)

/* Whether an entry can be one that a service has appended: its time is the one in its id, and lies
   between `since_us`, before which its transaction cannot have begun, and now. Others are sealed
   with a mark, and verifying names them. */
bool chain_is_plausible(const struct uuid *request_id, int64_t created_us, int64_t since_us,
                        int64_t now_us);

/* -- the next blocks of chains ----------------------------------------------------------------- */

/* In the order of sealing, over all organizations. */
struct block_place {
    uint64_t xid;
    struct uuid organization_id, request_id;
};

/* Entries of a block at most. */
#define BLOCK_ENTRIES_MAX 1000

struct block_entry {
    struct block_place place;
    int64_t created_us;
    bool is_implausible; /* gets a mark */
    uint8_t hash[SHA256_BYTES];
};

/* What the next block of a chain follows: entries and hash of its last block, and the greatest
   number that is taken. All zero = none yet. */
struct block_head {
    struct uuid organization_id;
    int64_t number, entries;
    uint8_t hash[SHA256_BYTES];
};

/* `head.*`: the last block of a chain, as statements read it. */
enum head_column {
    HEAD_NUMBER,
    HEAD_ENTRIES,
    HEAD_BLOCK_HASH,
    HEAD_MADE_US,
    HEAD_KEY_ID,
    HEAD_SIGNATURE,
    HEAD_LAST_XID,
    HEAD_COLUMNS
};

/* Numbers are written in JSON, where they are exact up to there. */
#define BLOCK_NUMBER_MAX (INT64_C(1) << 53)

struct block_stamp {
    uint64_t made_xid;
    int64_t made_us;
    struct str key_id;
};

struct block_made {
    struct chain_block block;
    uint8_t hash[SHA256_BYTES];
};

/* Makes the blocks of the entries that one step of sealing has read, which are given in the order
   of sealing; returns how many. `heads` are those that exist already, sorted by
   organization. */
size_t blocks_make(const struct block_entry *entries, size_t n, const struct block_head *heads,
                   size_t n_heads, const struct block_stamp *stamp, struct arena *arena,
                   struct block_made **out);

/* NULL: it has none. */
const struct block_head *block_find_head(const struct uuid *organization_id,
                                         const struct block_head *heads, size_t n);

int block_compare_places(const struct block_place *a, const struct block_place *b);

/* -- retention notes --------------------------------------------------------------------------- */

/* What retention has dropped, one note a month, each signed: up to when entries were dropped, and up to
   when the signed note before it had. One that is not signed is older than the notes, or forged:
   nothing here can tell. docs/audit.md has the signed text. */

/* They come one a month: notes beyond so many are not looked at. */
#define NOTES_MAX 600

struct note {
    int64_t until_us; /* every entry from before has been dropped */
    int64_t since_us; /* what the signed note before it reached to; 0 = it is the first */
    int64_t months, dropped_us;
    struct str dropped_by, key_id;
    uint8_t signature[SIGNING_SIGNATURE_BYTES];
    bool is_signed;
    bool is_malformed;
    bool is_old; /* retention can have dropped so much */
};

enum note_kind {
    NOTE_OURS,
    NOTE_UNSIGNED,
    NOTE_UNKNOWN, /* signed with a key that is not known */
    NOTE_FORGED,
};

enum note_kind note_kind(const struct note *note, const struct audit_keys *keys,
                         struct arena *arena);
/* Fills in key and signature. */
void note_sign(struct note *note, const struct audit_keys *keys, struct arena *arena);

/* The rows of list_notes.sql, the latest note first. */
const struct note *notes_read(const struct db_rows *rows, struct arena *arena, size_t *n);
/* Entries from before that time have been dropped, as far as notes can be believed; 0 = none. */
int64_t notes_reach(const struct note *notes, size_t n, const struct audit_keys *keys,
                    struct arena *arena);
/* What a new note follows, which reaches to `until_us`: the end of the last signed one, or 0. False:
   the key of that one is not known. As with blocks, it may be another replica's, which goes on. */
MUST_CHECK bool notes_last(const struct note *notes, size_t n, int64_t until_us,
                           const struct audit_keys *keys, struct arena *arena, int64_t *since_us);

#endif
