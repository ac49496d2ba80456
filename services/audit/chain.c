#include "services/audit/chain.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "audit_sql.h"
#include "common/base/ascii.h"
#include "common/base/buf.h"
#include "common/base/log.h"
#include "common/crypto/crypto.h"
#include "common/json/json.h"

/* -- entries as readers see them --------------------------------------------------------------- */

/* The greatest time that is read: it leaves room for arithmetic in an int64_t. */
#define US_MAX (INT64_C(1) << 60)

bool chain_read_us(struct str text, int64_t *us)
{
    const bool is_negative = text.n > 0 && text.p[0] == '-';
    uint64_t value;

    if (!str_to_u64(str_skip(text, is_negative ? 1 : 0), US_MAX, &value))
        return false;
    *us = is_negative ? -(int64_t)value : (int64_t)value;
    return true;
}

void entry_write(const struct db_rows *rows, size_t row, struct buf *out)
{
    buf_char(out, '{');
    json_add_text(out, "type", STR("audit_log"));
    json_add_text(out, "id", db_value(rows, row, ENTRY_REQUEST_ID));
    json_add_text(out, "request_id", db_value(rows, row, ENTRY_REQUEST_ID));
    json_add_text(out, "api_key_id", db_value(rows, row, ENTRY_API_KEY_ID));
    json_add_text(out, "operation", db_value(rows, row, ENTRY_OPERATION));
    json_add_integer(out, "http_status", db_value_int(rows, row, ENTRY_HTTP_STATUS));
    json_add_text(out, "outcome", db_value(rows, row, ENTRY_OUTCOME));
    json_add_text(out, "denial_reason", db_value(rows, row, ENTRY_DENIAL_REASON));
    json_add_text(out, "conversation_id", db_value(rows, row, ENTRY_CONVERSATION_ID));
    json_add_text(out, "contact_id", db_value(rows, row, ENTRY_CONTACT_ID));
    json_add_integer(out, "created_at", db_value_int(rows, row, ENTRY_CREATED_US) / 1000000);
    buf_char(out, '}');
}

/* -- keys -------------------------------------------------------------------------------------- */

static bool read_previous(struct str list, struct audit_keys *out)
{
    while (list.n > 0) {
        struct str hex = str_trim_ows(str_cut(&list, ','));

        if (out->n == AUDIT_KEYS_MAX || !signing_public_read(hex, &out->known[out->n]))
            return false;
        out->n++;
    }
    return true;
}

bool audit_keys_read(const char *secret, const char *previous, struct audit_keys *out)
{
    char hex[2 * SIGNING_PUBLIC_BYTES + 1];

    *out = (struct audit_keys){.own = signing_key_new(secret)};
    if (out->own == NULL) {
        LOG(LOG_ERROR, "AUDIT_SIGNING_KEY must be at least 32 characters long");
        return false;
    }
    out->known[out->n++] = *signing_key_public(out->own);
    if (!read_previous(str_of(previous), out)) {
        LOG(LOG_ERROR,
            "AUDIT_PUBLIC_KEYS must be up to 15 keys of 64 hex digits, separated by commas");
        return false;
    }
    hex_write(out->known[0].bytes, SIGNING_PUBLIC_BYTES, hex);
    LOG(LOG_INFO, "the audit log is sealed with this key", log_str("key_id", out->known[0].id),
        log_str("public_key", hex));
    return true;
}

const struct signing_public *audit_keys_find(const struct audit_keys *keys, struct str id)
{
    for (size_t i = 0; i < keys->n; i++)
        if (str_equal(str_of(keys->known[i].id), id))
            return &keys->known[i];
    return NULL;
}

/* -- hashed texts ------------------------------------------------------------------------------ */

/* No field that a service writes contains a line feed, so different entries never yield the same
   text. The "=" distinguishes an empty text from NULL. */
void chain_hash_entry(const struct str fields[CHAIN_COLUMNS], struct arena *arena,
                      uint8_t hash[SHA256_BYTES])
{
    struct buf text;

    buf_init(&text, arena, 512);
    buf_add(&text, STR("audit-entry-v1\n"));
    for (int i = 0; i < CHAIN_COLUMNS; i++) {
        if (fields[i].p != NULL) {
            buf_char(&text, '=');
            buf_add(&text, fields[i]);
        }
        buf_char(&text, '\n');
    }
    crypto_sha256(buf_str(&text), hash);
}

static void add_hex(struct buf *text, const uint8_t hash[SHA256_BYTES])
{
    char hex[2 * SHA256_BYTES + 1];

    hex_write(hash, SHA256_BYTES, hex);
    buf_add(text, str_of(hex));
    buf_char(text, '\n');
}

static void add_uuid(struct buf *text, const struct uuid *id)
{
    char line[UUID_TEXT + 1];

    uuid_format(id, line);
    buf_add(text, str_of(line));
    buf_char(text, '\n');
}

_Static_assert(sizeof(struct chain_item) == 16 + SHA256_BYTES,
               "an item is hashed as bytes, so it has no padding");

void chain_hash_block(const struct chain_block *block, struct arena *arena,
                      uint8_t hash[SHA256_BYTES])
{
    struct str contents = {(const char *)block->items, block->n * sizeof(*block->items)};
    uint8_t contents_hash[SHA256_BYTES];
    struct buf text;

    crypto_sha256(contents, contents_hash);
    buf_init(&text, arena, 512);
    buf_add(&text, STR("audit-block-v1\n"));
    add_uuid(&text, &block->organization_id);
    buf_printf(&text, "%" PRId64 "\n", block->number);
    add_hex(&text, block->previous_hash);
    buf_printf(&text, "%" PRId64 "\n%zu\n%" PRIu64 "\n", block->entries, block->n, block->last_xid);
    add_uuid(&text, &block->items[block->n - 1].request_id);
    buf_printf(&text, "%" PRIu64 "\n%" PRId64 "\n", block->made_xid, block->made_us);
    add_hex(&text, contents_hash);
    buf_add(&text, block->key_id);
    buf_char(&text, '\n');
    for (size_t i = 0; i < block->n_marks; i++)
        buf_printf(&text, "%" PRId64 " %" PRId64 "\n", block->marks[i].place,
                   block->marks[i].created_us);
    crypto_sha256(buf_str(&text), hash);
}

struct str chain_head_text(const struct uuid *organization_id, int64_t number, int64_t entries,
                           const uint8_t block_hash[SHA256_BYTES], struct arena *arena)
{
    struct buf text;

    buf_init(&text, arena, 192);
    buf_add(&text, STR("audit-head-v1\n"));
    add_uuid(&text, organization_id);
    buf_printf(&text, "%" PRId64 "\n%" PRId64 "\n", number, entries);
    add_hex(&text, block_hash);
    return buf_str(&text);
}

bool chain_has_own_time(const struct uuid *request_id, int64_t created_us)
{
    return request_id->b[6] >> 4 == 7 && created_us == uuid_v7_ms(request_id) * 1000;
}

bool chain_is_plausible(const struct uuid *request_id, int64_t created_us, int64_t since_us,
                        int64_t now_us)
{
    return chain_has_own_time(request_id, created_us) && created_us >= since_us - CHAIN_CLOCK_US &&
           created_us <= now_us + CHAIN_CLOCK_US;
}

/* -- the next blocks of chains ----------------------------------------------------------------- */

int block_compare_places(const struct block_place *a, const struct block_place *b)
{
    int order;

    if (a->xid != b->xid)
        return a->xid < b->xid ? -1 : 1;
    order = memcmp(&a->organization_id, &b->organization_id, sizeof(a->organization_id));
    return order != 0 ? order : memcmp(&a->request_id, &b->request_id, sizeof(a->request_id));
}

static int by_organization(const void *a, const void *b)
{
    const struct block_entry *x = *(const struct block_entry *const *)a;
    const struct block_entry *y = *(const struct block_entry *const *)b;
    int order = memcmp(&x->place.organization_id, &y->place.organization_id, sizeof(struct uuid));

    return order != 0 ? order : block_compare_places(&x->place, &y->place);
}

static int by_id(const void *id, const void *head)
{
    return memcmp(id, &((const struct block_head *)head)->organization_id, sizeof(struct uuid));
}

const struct block_head *block_find_head(const struct uuid *organization_id,
                                         const struct block_head *heads, size_t n)
{
    return n > 0 ? bsearch(organization_id, heads, n, sizeof(*heads), by_id) : NULL;
}

static struct block_head head_of(const struct uuid *organization_id, const struct block_head *heads,
                                 size_t n)
{
    const struct block_head *head = block_find_head(organization_id, heads, n);

    return head != NULL ? *head : (struct block_head){.organization_id = *organization_id};
}

static void add_marks(const struct block_entry *const *entries, size_t n, struct arena *arena,
                      struct chain_block *out)
{
    struct chain_mark *marks;

    for (size_t i = 0; i < n; i++)
        out->n_marks += entries[i]->is_implausible;
    if (out->n_marks == 0)
        return;
    out->marks = marks = ARENA_ARRAY(arena, struct chain_mark, out->n_marks);
    for (size_t i = 0; i < n; i++)
        if (entries[i]->is_implausible)
            *marks++ = (struct chain_mark){(int64_t)i + 1, entries[i]->created_us};
}

/* Makes the block that follows `head`, which then describes the new block. */
static void make_block(const struct block_entry *const *entries, size_t n, struct block_head *head,
                       const struct block_stamp *stamp, struct arena *arena, struct block_made *out)
{
    struct chain_item *items = ARENA_ARRAY(arena, struct chain_item, n);

    for (size_t i = 0; i < n; i++) {
        items[i].request_id = entries[i]->place.request_id;
        memcpy(items[i].hash, entries[i]->hash, SHA256_BYTES);
    }
    out->block = (struct chain_block){
        .organization_id = head->organization_id,
        .number = head->number + 1,
        .entries = head->entries + (int64_t)n,
        .last_xid = entries[n - 1]->place.xid,
        .made_xid = stamp->made_xid,
        .made_us = stamp->made_us,
        .key_id = stamp->key_id,
        .items = items,
        .n = n,
    };
    memcpy(out->block.previous_hash, head->hash, SHA256_BYTES);
    add_marks(entries, n, arena, &out->block);
    chain_hash_block(&out->block, arena, out->hash);
    head->number++;
    head->entries += (int64_t)n;
    memcpy(head->hash, out->hash, SHA256_BYTES);
}

size_t blocks_make(const struct block_entry *entries, size_t n, const struct block_head *heads,
                   size_t n_heads, const struct block_stamp *stamp, struct arena *arena,
                   struct block_made **out)
{
    const struct block_entry **sorted = ARENA_ARRAY(arena, const struct block_entry *, n);
    struct block_head head = {0};
    size_t n_blocks = 0;

    *out = ARENA_ARRAY(arena, struct block_made, n);
    for (size_t i = 0; i < n; i++)
        sorted[i] = &entries[i];
    qsort(sorted, n, sizeof(struct block_entry *), by_organization);
    for (size_t begin = 0, end; begin < n; begin = end) {
        const struct uuid *organization_id = &sorted[begin]->place.organization_id;

        if (begin == 0 || !uuid_equal(&head.organization_id, organization_id))
            head = head_of(organization_id, heads, n_heads);
        for (end = begin + 1; end < n && end - begin < BLOCK_ENTRIES_MAX; end++)
            if (!uuid_equal(&sorted[end]->place.organization_id, organization_id))
                break;
        make_block(sorted + begin, end - begin, &head, stamp, arena, &(*out)[n_blocks++]);
    }
    return n_blocks;
}

/* -- retention notes --------------------------------------------------------------------------- */

enum { BY_MAX = 64 };

/* Its texts contain no line feed, so different notes never yield the same text. */
static struct str note_text(const struct note *note, struct arena *arena)
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
    signing_make(keys->own, note_text(note, arena), note->signature);
}

enum note_kind note_kind(const struct note *note, const struct audit_keys *keys,
                         struct arena *arena)
{
    const struct signing_public *by;

    if (note->is_malformed)
        return NOTE_FORGED;
    by = audit_keys_find(keys, note->key_id);
    if (by == NULL)
        return NOTE_UNKNOWN;
    return signing_is_by(by, note_text(note, arena), note->signature) ? NOTE_OURS : NOTE_FORGED;
}

static bool is_line(struct str text, size_t max)
{
    return text.n > 0 && text.n <= max && memchr(text.p, '\n', text.n) == NULL;
}

static bool read_note(const struct db_rows *rows, size_t row, struct note *out)
{
    const struct str since = db_value(rows, row, LIST_NOTES_SINCE_US);

    out->months = db_value_int(rows, row, LIST_NOTES_MONTHS);
    return chain_read_us(db_value(rows, row, LIST_NOTES_UNTIL_US), &out->until_us) &&
           (since.p == NULL || chain_read_us(since, &out->since_us)) &&
           chain_read_us(db_value(rows, row, LIST_NOTES_DROPPED_US), &out->dropped_us) &&
           is_line(out->dropped_by, BY_MAX) && is_line(out->key_id, CHAIN_KEY_ID_MAX) &&
           hex_read(db_value(rows, row, LIST_NOTES_SIGNATURE), out->signature,
                    sizeof(out->signature));
}

const struct note *notes_read(const struct db_rows *rows, struct arena *arena, size_t *n)
{
    struct note *notes;

    *n = db_rows_count(rows);
    notes = ARENA_ARRAY(arena, struct note, *n);
    for (size_t i = 0; i < *n; i++) {
        struct note *note = &notes[i];

        *note = (struct note){
            .dropped_by = arena_str(arena, db_value(rows, i, LIST_NOTES_DROPPED_BY)),
            .key_id = arena_str(arena, db_value(rows, i, LIST_NOTES_KEY_ID)),
        };
        note->is_malformed = !read_note(rows, i, note);
    }
    return notes;
}

int64_t notes_reach(const struct note *notes, size_t n, const struct audit_keys *keys,
                    struct arena *arena)
{
    for (size_t i = 0; i < n; i++)
        if (note_kind(&notes[i], keys, arena) == NOTE_OURS)
            return notes[i].until_us;
    return 0;
}

bool notes_last(const struct note *notes, size_t n, int64_t until_us, const struct audit_keys *keys,
                struct arena *arena, int64_t *since_us)
{
    *since_us = 0;
    for (size_t i = 0; i < n; i++) {
        const enum note_kind kind = note_kind(&notes[i], keys, arena);

        if (notes[i].until_us >= until_us || kind == NOTE_FORGED)
            continue;
        *since_us = notes[i].until_us;
        return kind == NOTE_OURS;
    }
    return true;
}
