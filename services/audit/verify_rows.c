#include "services/audit/verify_rows.h"

#include "common/base/ascii.h"

static bool read_hash(struct str hex, uint8_t hash[SHA256_BYTES])
{
    return hex_read(hex, hash, SHA256_BYTES);
}

/* Ids between commas and hashes without anything between: the same number of both. */
static bool read_items(struct str ids, struct str hashes, struct arena *arena,
                       struct chain_block *out)
{
    const size_t hash_text = 2L * SHA256_BYTES;
    struct chain_item *items;

    out->n = ids.n == 0 ? 0 : (ids.n + 1) / (UUID_TEXT + 1);
    items = ARENA_ARRAY(arena, struct chain_item, out->n);
    out->items = items;
    if (hashes.n != out->n * hash_text)
        return false;
    for (size_t i = 0; i < out->n; i++) {
        if (!uuid_parse(str_cut(&ids, ','), &items[i].request_id) ||
            !read_hash((struct str){hashes.p + i * hash_text, hash_text}, items[i].hash))
            return false;
    }
    return ids.n == 0;
}

/* Places and times between commas; the places ascend. */
static bool read_marks(struct str places, struct str times, struct arena *arena,
                       struct chain_block *out)
{
    struct chain_mark *marks;
    int64_t last = 0;

    if (places.n == 0)
        return times.n == 0;
    out->marks = marks = ARENA_ARRAY(arena, struct chain_mark, out->n);
    while (places.n > 0 && out->n_marks < out->n) {
        struct chain_mark *mark = &marks[out->n_marks++];
        uint64_t place;

        if (!str_to_u64(str_cut(&places, ','), out->n, &place) || (int64_t)place <= last ||
            !chain_read_us(str_cut(&times, ','), &mark->created_us))
            return false;
        mark->place = last = (int64_t)place;
    }
    return places.n == 0 && times.n == 0;
}

bool verify_read_block(const struct db_rows *rows, size_t row, struct arena *arena,
                       struct verify_block *out)
{
    struct chain_block *sealed = &out->sealed;

    *out = (struct verify_block){.sealed = {
                                     .number = db_value_int(rows, row, VERIFY_NUMBER),
                                     .entries = db_value_int(rows, row, VERIFY_ENTRIES),
                                     .key_id = arena_str(arena, db_value(rows, row, VERIFY_KEY_ID)),
                                 }};
    return sealed->number > 0 && sealed->number <= BLOCK_NUMBER_MAX && sealed->entries > 0 &&
           sealed->entries <= BLOCK_NUMBER_MAX && sealed->key_id.n <= CHAIN_KEY_ID_MAX &&
           chain_read_us(db_value(rows, row, VERIFY_MADE_US), &sealed->made_us) &&
           str_to_u64(db_value(rows, row, VERIFY_LAST_XID), UINT64_MAX, &sealed->last_xid) &&
           str_to_u64(db_value(rows, row, VERIFY_MADE_XID), UINT64_MAX, &sealed->made_xid) &&
           uuid_parse(db_value(rows, row, VERIFY_LAST_REQUEST_ID), &out->last_request_id) &&
           read_hash(db_value(rows, row, VERIFY_PREVIOUS_HASH), sealed->previous_hash) &&
           read_hash(db_value(rows, row, VERIFY_BLOCK_HASH), out->hash) &&
           hex_read(db_value(rows, row, VERIFY_SIGNATURE), out->signature,
                    sizeof(out->signature)) &&
           read_items(db_value(rows, row, VERIFY_REQUEST_IDS),
                      db_value(rows, row, VERIFY_ENTRY_HASHES), arena, sealed) &&
           read_marks(db_value(rows, row, VERIFY_IMPLAUSIBLE_PLACES),
                      db_value(rows, row, VERIFY_IMPLAUSIBLE_US), arena, sealed) &&
           sealed->n > 0;
}

const uint8_t *verify_read_published(const struct db_rows *rows, size_t row, struct arena *arena)
{
    struct str published = db_value(rows, row, VERIFY_BLOCK_COLUMNS);
    uint8_t *hash = arena_alloc(arena, SHA256_BYTES);

    if (published.p == NULL)
        return NULL;
    (void)read_hash(published, hash);
    return hash;
}

const struct verify_entry *verify_read_entries(const struct db_rows *rows, size_t *row,
                                               int64_t block, size_t n, struct arena *arena)
{
    struct verify_entry *entries = ARENA_ARRAY(arena, struct verify_entry, n);

    for (size_t i = 0; *row < db_rows_count(rows) && db_value_int(rows, *row, 0) <= block;
         (*row)++) {
        struct str fields[CHAIN_FIELDS];

        if (db_value_int(rows, *row, 0) < block || i == n)
            continue;
        for (int field = 0; field < CHAIN_FIELDS; field++)
            fields[field] = db_value(rows, *row, 1 + field);
        entries[i].is_there = fields[CHAIN_REQUEST_ID].p != NULL;
        if (entries[i].is_there)
            chain_hash_entry(fields, arena, entries[i].hash);
        i++;
    }
    return entries;
}

/* The columns of list_covered_entries.sql. */
enum covered_column {
    REQUEST_ID,
    XID,
    CREATED_US,
    CREATED_AT, /* verify_command.c goes on there */
    BLOCK,
    IS_SEALED,
    IS_MARKED,
    IS_KNOWN,
    IS_AHEAD,
};

struct verify_covered verify_read_covered(const struct db_rows *rows, size_t row)
{
    struct verify_covered covered = {
        .entry.is_implausible = db_value_bool(rows, row, IS_MARKED),
        .block = db_value_int(rows, row, BLOCK),
        .is_sealed = db_value_bool(rows, row, IS_SEALED),
        .is_known = db_value_bool(rows, row, IS_KNOWN),
        .is_ahead = db_value_bool(rows, row, IS_AHEAD),
    };
    struct block_entry *entry = &covered.entry;

    covered.is_unreadable =
        !uuid_parse(db_value(rows, row, REQUEST_ID), &entry->place.request_id) ||
        !str_to_u64(db_value(rows, row, XID), UINT64_MAX, &entry->place.xid) ||
        !chain_read_us(db_value(rows, row, CREATED_US), &entry->created_us);
    return covered;
}
