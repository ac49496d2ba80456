/*
 * note - what retention has dropped, as it is noted: one note a month, each signed.
 *
 * What     A note says up to when entries were dropped, and up to when the signed note before it had.
 *          One that is not signed is older than the notes, or forged: nothing here can
 *          tell. docs/audit.md has what is signed.
 * Owns     Everything lives in the arena.
 * Threads  Any; note_sign() is the sealer's, as its key is.
 */
#ifndef SERVICES_AUDIT_NOTE_H
#define SERVICES_AUDIT_NOTE_H

#include "common/db/db.h"
#include "services/audit/chain.h"

/* They come one a month: what is beyond so many is not looked at. */
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
