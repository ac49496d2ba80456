/* Rows of the audit log's seal that anyone with write access to the database may have left: blocks
   and retention notes. The input is a letter and the values of one or more rows, one a line; `\N`
   is NULL. */
#include <libpq-fe.h>
#include <string.h>

#include "audit_sql.h"
#include "common/base/ascii.h"
#include "services/audit/ends.h"
#include "services/audit/verify.h"
#include "tests/fuzz/fuzz.h"

#define SECRET "a secret that is long enough for a fuzzer"

enum { COLUMNS_MAX = 24, ROWS_MAX = 8 };

static struct arena arena = {.cap = 64 << 20};
static struct audit_keys keys;

/* -- rows -------------------------------------------------------------------------------------- */

static PGresult *rows_new(int n_columns)
{
    PGresult *result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
    static char name[] = "column";
    PGresAttDesc columns[COLUMNS_MAX];

    must(result != NULL && n_columns <= COLUMNS_MAX);
    for (int i = 0; i < n_columns; i++)
        columns[i] = (PGresAttDesc){.name = name};
    must(PQsetResultAttrs(result, n_columns, columns));
    return result;
}

/* Sets the value up to a zero byte, as PostgreSQL's text has none. */
static void set(PGresult *result, int row, int column, struct str text)
{
    char *const copy = arena_cstr(&arena, text);
    const bool is_null = text.p == NULL || strcmp(copy, "\\N") == 0;

    must(PQsetvalue(result, row, column, is_null ? NULL : copy, is_null ? -1 : (int)strlen(copy)));
}

static PGresult *rows_of(struct str lines, int n_columns)
{
    PGresult *result = rows_new(n_columns);

    for (int row = 0; lines.p != NULL && row < ROWS_MAX; row++)
        for (int column = 0; column < n_columns; column++)
            set(result, row, column, lines.p != NULL ? str_cut(&lines, '\n') : STR_NONE);
    return result;
}

static const struct db_rows *rows_in(const PGresult *result)
{
    return (const struct db_rows *)result;
}

/* -- blocks ------------------------------------------------------------------------------------ */

static struct str hex_of(const void *bytes, size_t n)
{
    char *text = arena_alloc(&arena, 2 * n + 1);

    hex_write(bytes, n, text);
    return str_of(text);
}

static struct str number_text(int64_t value)
{
    return str_of(arena_printf(&arena, "%lld", (long long)value));
}

static struct str place_text(uint64_t value)
{
    return str_of(arena_printf(&arena, "%llu", (unsigned long long)value));
}

static struct str id_text(const struct uuid *id)
{
    char *text = arena_alloc(&arena, UUID_TEXT + 1);

    uuid_format(id, text);
    return str_of(text);
}

static void set_items(PGresult *result, const struct chain_block *sealed)
{
    struct buf ids, hashes, places, times;

    buf_init(&ids, &arena, 64);
    buf_init(&hashes, &arena, 64);
    buf_init(&places, &arena, 64);
    buf_init(&times, &arena, 64);
    for (size_t i = 0; i < sealed->n; i++) {
        if (i > 0)
            buf_char(&ids, ',');
        buf_add(&ids, id_text(&sealed->items[i].request_id));
        buf_add(&hashes, hex_of(sealed->items[i].hash, SHA256_BYTES));
    }
    for (size_t i = 0; i < sealed->n_marks; i++) {
        buf_printf(&places, "%s%lld", i > 0 ? "," : "", (long long)sealed->marks[i].place);
        buf_printf(&times, "%s%lld", i > 0 ? "," : "", (long long)sealed->marks[i].created_us);
    }
    set(result, 0, VERIFY_REQUEST_IDS, buf_str(&ids));
    set(result, 0, VERIFY_ENTRY_HASHES, buf_str(&hashes));
    set(result, 0, VERIFY_IMPLAUSIBLE_PLACES, buf_str(&places));
    set(result, 0, VERIFY_IMPLAUSIBLE_US, buf_str(&times));
}

/* The row as the sealer would have written it. */
static PGresult *row_of(const struct verify_block *block, int n_columns)
{
    const struct chain_block *sealed = &block->sealed;
    PGresult *result = rows_new(n_columns);

    set(result, 0, VERIFY_NUMBER, number_text(sealed->number));
    set(result, 0, VERIFY_PREVIOUS_HASH, hex_of(sealed->previous_hash, SHA256_BYTES));
    set(result, 0, VERIFY_ENTRIES, number_text(sealed->entries));
    set(result, 0, VERIFY_LAST_XID, place_text(sealed->last_xid));
    set(result, 0, VERIFY_LAST_REQUEST_ID, id_text(&block->last_request_id));
    set(result, 0, VERIFY_MADE_XID, place_text(sealed->made_xid));
    set(result, 0, VERIFY_MADE_US, number_text(sealed->made_us));
    set(result, 0, VERIFY_KEY_ID, sealed->key_id);
    set(result, 0, VERIFY_BLOCK_HASH, hex_of(block->hash, SHA256_BYTES));
    set(result, 0, VERIFY_SIGNATURE, hex_of(block->signature, sizeof(block->signature)));
    set_items(result, sealed);
    return result;
}

/* The place up to which everything is sealed, according to the block. */
static enum ends_kind place_in(const struct verify_block *block)
{
    PGresult *row = row_of(block, READ_PLACE_IS_AHEAD + 1);
    struct ends_place place;
    enum ends_kind kind;

    set(row, 0, READ_PLACE_ORGANIZATION_ID, id_text(&block->sealed.organization_id));
    kind = ends_read_place(rows_in(row), &keys, &arena, &place);
    must(kind != ENDS_OURS || place.at.xid == block->sealed.last_xid);
    PQclear(row);
    return kind;
}

/* A block sealed with our key is ours, whatever its contents; with one bit flipped it is not. */
static void check_seal(struct verify_block block)
{
    const struct chain_block *sealed = &block.sealed;
    struct verify_chain chain = {.number = sealed->number - 1, .is_broken = true};
    struct verify_report report = {.first = VERIFY_CHANGED};
    struct str head;

    block.sealed.key_id = str_of(signing_key_public(keys.own)->id);
    block.last_request_id = sealed->items[sealed->n - 1].request_id;
    chain_hash_block(&block.sealed, &arena, block.hash);
    head = chain_head_text(&sealed->organization_id, sealed->number, sealed->entries, block.hash,
                           &arena);
    signing_make(keys.own, head, block.signature);
    must(verify_is_whole(&block, &arena) && verify_doubt(&block, &keys, &arena) == NULL);
    must(place_in(&block) == ENDS_OURS);

    block.entries = ARENA_ARRAY(&arena, struct verify_entry, sealed->n);
    verify_block(&chain, &block, &keys, 0, &arena, &report);
    must(report.of[VERIFY_REWRITTEN].count == 0 && chain.number == sealed->number);
    must(report.of[VERIFY_REMOVED].count + chain.expired == (int64_t)sealed->n);
    must(report.of[VERIFY_IMPLAUSIBLE].count == (int64_t)sealed->n_marks);

    block.sealed.last_xid ^= 1;
    must(!verify_is_whole(&block, &arena));
    must(verify_doubt(&block, &keys, &arena) != NULL && place_in(&block) == ENDS_FOREIGN);
    block.sealed.key_id = STR("another key");
    chain_hash_block(&block.sealed, &arena, block.hash);
    must(place_in(&block) == ENDS_UNKNOWN);
    block.sealed.key_id = str_of(signing_key_public(keys.own)->id);
    chain_hash_block(&block.sealed, &arena, block.hash);
    must(place_in(&block) == ENDS_FOREIGN); /* the signature belongs to another hash */
}

static void check_block(struct str lines, bool is_signed)
{
    PGresult *rows = rows_of(lines, VERIFY_COLUMNS), *written;
    struct verify_block block, again;

    if (verify_read_block(rows_in(rows), 0, &arena, &block)) {
        must(block.sealed.n > 0 && block.sealed.n_marks <= block.sealed.n);
        written = row_of(&block, VERIFY_COLUMNS);
        must(verify_read_block(rows_in(written), 0, &arena, &again));
        must(again.sealed.n == block.sealed.n && again.sealed.n_marks == block.sealed.n_marks);
        must(verify_is_whole(&again, &arena) == verify_is_whole(&block, &arena));
        PQclear(written);
        if (is_signed)
            check_seal(block);
    }
    PQclear(rows);
}

static void check_place(struct str lines)
{
    PGresult *rows = rows_of(lines, READ_PLACE_IS_AHEAD + 1);
    struct ends_place place;
    enum ends_kind kind = ends_read_place(rows_in(rows), &keys, &arena, &place);

    must(kind == ENDS_OURS || (place.made_xid == 0 && place.at.xid == 0));
    PQclear(rows);
}

/* -- notes ------------------------------------------------------------------------------------- */

static void check_notes(struct str lines)
{
    PGresult *rows = rows_of(lines, LIST_NOTES_SIGNATURE + 1);
    struct verify_report report = {.first = VERIFY_CHANGED};
    int64_t since_us = 0;
    size_t n;
    const struct note *notes = notes_read(rows_in(rows), &arena, &n);

    must(n <= ROWS_MAX);
    for (size_t i = 0; i < n; i++) {
        struct note note = notes[i];

        note.is_malformed = false;
        note_sign(&note, &keys, &arena);
        must(note_kind(&note, &keys, &arena) == NOTE_OURS);
        note.until_us++;
        must(note_kind(&note, &keys, &arena) == NOTE_FORGED);
    }
    (void)notes_reach(notes, n, &keys, &arena);
    must(notes_last(notes, n, INT64_MAX, &keys, &arena, &since_us) || n > 0);
    verify_notes(notes, n, &keys, &arena, &report);
    PQclear(rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const struct str lines = {(const char *)data + 1, n - 1};

    if (n == 0)
        return 0;
    fuzz_quiet();
    if (keys.own == NULL)
        must(audit_keys_read(SECRET, NULL, &keys));
    switch (data[0]) {
    case 'b':
        check_block(lines, false);
        break;
    case 's': /* not for all inputs: signing takes a hundred times as long */
        check_block(lines, true);
        break;
    case 'p':
        check_place(lines);
        break;
    case 'n':
        check_notes(lines);
        break;
    }
    arena_clear(&arena);
    return 0;
}
