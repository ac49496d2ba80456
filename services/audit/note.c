#include "services/audit/note.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/ascii.h"
#include "common/base/buf.h"
#include "services/audit/chain.h"
#include "services/audit/verify_rows.h"

#define BY_MAX 64

/* Neither of its texts holds a line feed, so two notes never give the same. */
static struct str text_of(const struct note *note, struct arena *arena)
{
    struct buf text;

    buf_init(&text, arena, 256);
    buf_printf(&text, "audit-note-v1\n%" PRId64 "\n%" PRId64 "\n%" PRId64 "\n%" PRId64 "\n",
               note->until_us, note->since_us, note->months, note->dropped_us);
    buf_add(&text, note->dropped_by);
    buf_char(&text, '\n');
    buf_add(&text, note->key_id);
    buf_char(&text, '\n');
    return buf_str(&text);
}

void note_sign(struct note *note, const struct audit_keys *keys, struct arena *arena)
{
    note->key_id = arena_str(arena, str_of(signing_key_public(keys->own)->id));
    note->is_signed = true;
    signing_make(keys->own, text_of(note, arena), note->signature);
}

enum note_kind note_kind(const struct note *note, const struct audit_keys *keys,
                         struct arena *arena)
{
    const struct signing_public *by;

    if (note->is_malformed)
        return NOTE_FORGED;
    if (!note->is_signed)
        return NOTE_UNSIGNED;
    by = audit_keys_find(keys, note->key_id);
    if (by == NULL)
        return NOTE_UNKNOWN;
    return signing_is_by(by, text_of(note, arena), note->signature) ? NOTE_OURS : NOTE_FORGED;
}

/* -- all of them ------------------------------------------------------------------------------ */

enum note_column { UNTIL, SINCE, MONTHS, DROPPED_AT, DROPPED_BY, KEY_ID, SIGNATURE, IS_OLD };

static bool is_line(struct str text, size_t max)
{
    return text.n > 0 && text.n <= max && memchr(text.p, '\n', text.n) == NULL;
}

static bool read_signed(const struct db_rows *rows, size_t row, struct note *out)
{
    const struct str since = db_value(rows, row, SINCE);

    out->months = db_value_int(rows, row, MONTHS);
    return verify_read_us(db_value(rows, row, UNTIL), &out->until_us) &&
           (since.p == NULL || verify_read_us(since, &out->since_us)) &&
           verify_read_us(db_value(rows, row, DROPPED_AT), &out->dropped_us) &&
           is_line(out->dropped_by, BY_MAX) && is_line(out->key_id, CHAIN_KEY_ID_MAX) &&
           hex_read(db_value(rows, row, SIGNATURE), out->signature, sizeof(out->signature));
}

const struct note *notes_read(const struct db_rows *rows, struct arena *arena, size_t *n)
{
    struct note *notes;

    *n = db_rows_count(rows);
    notes = ARENA_ARRAY(arena, struct note, *n);
    for (size_t i = 0; i < *n; i++) {
        struct note *note = &notes[i];

        *note = (struct note){
            .dropped_by = arena_str(arena, db_value(rows, i, DROPPED_BY)),
            .key_id = arena_str(arena, db_value(rows, i, KEY_ID)),
            .is_signed = db_value(rows, i, SIGNATURE).p != NULL,
            .is_old = db_value_bool(rows, i, IS_OLD),
        };
        note->is_malformed = note->is_signed
                                 ? !read_signed(rows, i, note)
                                 : !verify_read_us(db_value(rows, i, UNTIL), &note->until_us);
    }
    return notes;
}

int64_t notes_reach(const struct note *notes, size_t n, const struct audit_keys *keys,
                    struct arena *arena)
{
    for (size_t i = 0; i < n; i++) {
        const enum note_kind kind = note_kind(&notes[i], keys, arena);

        if (kind == NOTE_OURS || (kind == NOTE_UNSIGNED && notes[i].is_old))
            return notes[i].until_us;
    }
    return 0;
}

bool notes_last(const struct note *notes, size_t n, int64_t until_us, const struct audit_keys *keys,
                struct arena *arena, int64_t *since_us)
{
    *since_us = 0;
    for (size_t i = 0; i < n; i++) {
        const enum note_kind kind = note_kind(&notes[i], keys, arena);

        if (notes[i].until_us >= until_us || (kind != NOTE_OURS && kind != NOTE_UNKNOWN))
            continue;
        *since_us = notes[i].until_us;
        return kind == NOTE_OURS;
    }
    return true;
}
