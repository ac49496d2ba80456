#include "services/audit/verify_rows.h"

#include "common/base/clock.h"
#include "common/base/log.h"
#include "services/audit/pass.h"

enum block_column {
    NUMBER,
    PREVIOUS_HASH,
    ENTRIES,
    LAST_XID,
    LAST_REQUEST_ID,
    MADE_XID,
    MADE_US,
    KEY_ID,
    BLOCK_HASH,
    SIGNATURE,
    REQUEST_IDS,
    ENTRY_HASHES,
    PUBLISHED_HASH,
};

static bool read_hash(struct str hex, uint8_t hash[SHA256_BYTES])
{
    return crypto_unhex(hex, hash, SHA256_BYTES);
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

bool verify_read_block(const struct db_rows *rows, size_t row, struct arena *arena,
                       struct verify_block *out)
{
    struct str published = db_value(rows, row, PUBLISHED_HASH);
    uint8_t *published_hash = arena_alloc(arena, SHA256_BYTES);
    struct chain_block *sealed = &out->sealed;

    *out = (struct verify_block){.sealed = {
                                     .number = db_value_int(rows, row, NUMBER),
                                     .entries = db_value_int(rows, row, ENTRIES),
                                     .made_us = db_value_int(rows, row, MADE_US),
                                     .key_id = arena_str(arena, db_value(rows, row, KEY_ID)),
                                 }};
    if (published.p != NULL)
        out->published_hash = published_hash;
    return str_to_u64(db_value(rows, row, LAST_XID), UINT64_MAX, &sealed->last_xid) &&
           str_to_u64(db_value(rows, row, MADE_XID), UINT64_MAX, &sealed->made_xid) &&
           uuid_parse(db_value(rows, row, LAST_REQUEST_ID), &out->last_request_id) &&
           read_hash(db_value(rows, row, PREVIOUS_HASH), sealed->previous_hash) &&
           read_hash(db_value(rows, row, BLOCK_HASH), out->hash) &&
           crypto_unhex(db_value(rows, row, SIGNATURE), out->signature, sizeof(out->signature)) &&
           (published.p == NULL || read_hash(published, published_hash)) &&
           read_items(db_value(rows, row, REQUEST_IDS), db_value(rows, row, ENTRY_HASHES), arena,
                      sealed);
}

const struct verify_entry *verify_read_entries(const struct db_rows *rows, size_t *row,
                                               int64_t block, size_t n, struct arena *arena)
{
    struct verify_entry *entries = ARENA_ARRAY(arena, struct verify_entry, n);

    for (size_t i = 0; i < n && *row < db_rows_count(rows) && db_value_int(rows, *row, 0) == block;
         i++, (*row)++) {
        struct str fields[CHAIN_FIELDS];

        for (int field = 0; field < CHAIN_FIELDS; field++)
            fields[field] = db_value(rows, *row, 1 + field);
        entries[i].is_there = fields[CHAIN_REQUEST_ID].p != NULL;
        if (entries[i].is_there)
            chain_hash_entry(fields, arena, entries[i].hash);
    }
    return entries;
}

struct verify_covered verify_read_covered(const struct db_rows *rows, size_t row)
{
    struct verify_covered covered = {
        .block = db_value_int(rows, row, 3),
        .is_sealed = db_value_bool(rows, row, 4),
        .is_ahead = db_value_bool(rows, row, 5),
    };
    struct block_entry *entry = &covered.entry;

    must(uuid_parse(db_value(rows, row, 0), &entry->place.request_id));
    must(str_to_u64(db_value(rows, row, 1), UINT64_MAX, &entry->place.xid));
    /* A time that is none leaves 0, which no id of an entry of ours has in it. */
    if (db_value(rows, row, 2).p != NULL)
        entry->created_us = db_value_int(rows, row, 2);
    return covered;
}

struct verify_seal verify_read_seal(const struct db_rows *rows)
{
    struct verify_seal seal = {.place = pass_read_place(rows), .now_us = clock_us()};

    if (db_value(rows, 0, 4).p != NULL) {
        must(str_to_u64(db_value(rows, 0, 4), UINT64_MAX, &seal.made_xid));
        seal.made_us = db_value_int(rows, 0, 5);
    }
    return seal;
}
