#include "services/audit/verify_block.h"

#include <string.h>

#include "audit_sql.h"
#include "common/base/ascii.h"

/* -- from a row -------------------------------------------------------------------------------- */

static bool read_hash(struct str hex, uint8_t hash[SHA256_BYTES])
{
    return hex_read(hex, hash, SHA256_BYTES);
}

/* Ids are separated by commas, hashes by nothing; there must be as many of one as of the other. */
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

/* Places and times are separated by commas; places must ascend. */
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

_Static_assert(LIST_BLOCKS_VERIFY == 0 && READ_PLACE_VERIFY == 0, "the VERIFY_ columns come first");

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

/* -- whether it is ours ------------------------------------------------------------------------ */

static const char *doubt_contents(const struct verify_block *block, struct arena *arena)
{
    const struct chain_block *sealed = &block->sealed;
    uint8_t hash[SHA256_BYTES];

    if (sealed->n == 0)
        return "the block is malformed";
    if (!uuid_equal(&block->last_request_id, &sealed->items[sealed->n - 1].request_id))
        return "the block does not end with its last entry";
    chain_hash_block(sealed, arena, hash);
    if (memcmp(hash, block->hash, SHA256_BYTES) != 0)
        return "the block's hash does not match its contents";
    return NULL;
}

bool verify_is_whole(const struct verify_block *block, struct arena *arena)
{
    return doubt_contents(block, arena) == NULL;
}

const char *verify_doubt(const struct verify_block *block, const struct audit_keys *keys,
                         struct arena *arena)
{
    const struct chain_block *sealed = &block->sealed;
    const struct signing_public *by = audit_keys_find(keys, sealed->key_id);
    const char *why = doubt_contents(block, arena);

    if (why != NULL)
        return why;
    if (by == NULL)
        return "the block is signed with an unknown key: see AUDIT_PUBLIC_KEYS";
    if (!signing_is_by(by,
                       chain_head_text(&sealed->organization_id, sealed->number, sealed->entries,
                                       block->hash, arena),
                       block->signature))
        return "the block's signature is wrong";
    return NULL;
}
