/*
 * chain - the sealed audit log: its entries and their hashes, the keys that sign, the blocks of a
 * chain, and the notes of what retention has dropped.
 *
 * What     docs/audit.md describes the formats for auditors who verify without this code.
 * Owns     Results live in the arena.
 * Threads  Any; pure. Keys are read-only after start; only the sealer signs.
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

/* Reads Unix microseconds as audit.us() writes them; false: anything else, and *us is unchanged. */
bool chain_read_us(struct str text, int64_t *us);

/* Appends the audit_log object. */
void entry_write(const struct db_rows *rows, size_t row, struct buf *out);

/* -- keys -------------------------------------------------------------------------------------- */

#define AUDIT_KEYS_MAX 16

/* The signing key, and all known public keys: its own, previous ones and the next. */
struct audit_keys {
    struct signing_key *own;
    struct signing_public known[AUDIT_KEYS_MAX]; /* that of `own` first */
    size_t n;
};

/* `previous` has public keys in hex, separated by commas. False (logged): a key is malformed. */
MUST_CHECK bool audit_keys_read(const char *secret, const char *previous, struct audit_keys *out);
/* NULL: the key is unknown. */
const struct signing_public *audit_keys_find(const struct audit_keys *keys, struct str id);

/* -- hashed texts ------------------------------------------------------------------------------ */

/* Texts with one line for each field are hashed; only a block's contents are hashed as bytes. */

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

/* Marks an entry of a block that no service can have appended as it was found: its place in the
   block, from 1, and its created_at, which need not be the time in its id. */
struct chain_mark {
    int64_t place, created_us;
};

struct chain_block {
    struct uuid organization_id;
    int64_t number;                      /* from 1 */
    uint8_t previous_hash[SHA256_BYTES]; /* zeros before the first */
    int64_t entries;                     /* in the chain, including this block's */
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

/* The text that a block's signature covers. Its organization ties a published head to its chain. */
struct str chain_head_text(const struct uuid *organization_id, int64_t number, int64_t entries,
                           const uint8_t block_hash[SHA256_BYTES], struct arena *arena);

/* How far gateways' clocks and the database's may differ, including the time of a request. */
#define CHAIN_CLOCK_US (60 * 1000 * 1000LL)

/* Whether a service can have written the entry: its id is a UUIDv7, and its time the one in it. */
bool chain_has_own_time(const struct uuid *request_id, int64_t created_us);

/* Whether a service with a right clock can have appended the entry: its time is the one in its id, and lies between
   `since_us`, before which its transaction cannot have begun, and now. Other entries are sealed
   with a mark, and verifying reports them. */
bool chain_is_plausible(const struct uuid *request_id, int64_t created_us, int64_t since_us,
                        int64_t now_us);

/* -- the next blocks of chains ----------------------------------------------------------------- */

/* A place in the order of sealing, over all organizations. */
struct block_place {
    uint64_t xid;
    struct uuid organization_id, request_id;
};

/* The most entries that a block has. */
#define BLOCK_ENTRIES_MAX 1000

struct block_entry {
    struct block_place place;
    int64_t created_us;
    bool is_implausible; /* gets a mark */
    uint8_t hash[SHA256_BYTES];
};

/* What the next block of a chain follows: the entries and the hash of its last block, and the
   greatest number that is taken. All zero = there is no block yet. */
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

/* Numbers are written in JSON, where integers are exact up to this. */
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

/* Makes blocks of the entries of one sealing step, which are in the order of sealing; returns how
   many blocks. `heads` are the existing heads, sorted by organization. */
size_t blocks_make(const struct block_entry *entries, size_t n, const struct block_head *heads,
                   size_t n_heads, const struct block_stamp *stamp, struct arena *arena,
                   struct block_made **out);

/* NULL: the organization has no head. */
const struct block_head *block_find_head(const struct uuid *organization_id,
                                         const struct block_head *heads, size_t n);

int block_compare_places(const struct block_place *a, const struct block_place *b);

/* -- retention notes --------------------------------------------------------------------------- */

/* Retention leaves a signed note for each month that it drops. The note has the time up to which
   entries are dropped, and that time from the note before it. docs/audit.md has the signed text. */

/* There is one note a month; notes beyond this many are not looked at. */
#define NOTES_MAX 600

struct note {
    int64_t until_us; /* all entries older than this have been dropped */
    int64_t since_us; /* until_us of the note before; 0 = this is the first */
    int64_t months, dropped_us;
    struct str dropped_by, key_id;
    uint8_t signature[SIGNING_SIGNATURE_BYTES];
    bool is_malformed; /* for example, without a signature */
};

enum note_kind {
    NOTE_OURS,
    NOTE_UNKNOWN, /* signed with an unknown key */
    NOTE_FORGED,
};

enum note_kind note_kind(const struct note *note, const struct audit_keys *keys,
                         struct arena *arena);
/* Fills in key and signature. */
void note_sign(struct note *note, const struct audit_keys *keys, struct arena *arena);

/* The rows of list_notes.sql, the latest note first. */
const struct note *notes_read(const struct db_rows *rows, struct arena *arena, size_t *n);
/* Entries older than this have been dropped, by the latest of our notes; 0 = none. */
int64_t notes_reach(const struct note *notes, size_t n, const struct audit_keys *keys,
                    struct arena *arena);
/* Sets *since_us for a new note that ends at `until_us`: the end of the last note before that, or
   0. False: that note's key is unknown; as with blocks, a replica that has the key continues. */
MUST_CHECK bool notes_last(const struct note *notes, size_t n, int64_t until_us,
                           const struct audit_keys *keys, struct arena *arena, int64_t *since_us);

#endif
