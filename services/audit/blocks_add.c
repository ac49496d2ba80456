#include "services/audit/blocks_add.h"

#include "audit_sql.h"
#include "common/base/ascii.h"
#include "common/db/params.h"

/* The columns of add_blocks.sql. */
enum block_column {
    ORGANIZATION_ID,
    NUMBER,
    PREVIOUS_HASH,
    ENTRIES,
    LAST_XID,
    LAST_REQUEST_ID,
    MADE_XID,
    MADE_US,
    FIRST, /* of its entries, among those of all blocks */
    LAST,
    BLOCK_HASH,
    KEY_ID,
    SIGNATURE,
    REQUEST_IDS,  /* of all blocks, and */
    ENTRY_HASHES, /* their hashes, one after the other */
    IMPLAUSIBLE,
    IMPLAUSIBLE_US,
    BLOCK_COLUMNS
};

struct columns {
    struct buf of[BLOCK_COLUMNS]; /* all but the next, which is in binary */
    struct elements request_ids;
};

static void add_hex(struct buf *column, const void *data, size_t n)
{
    char *text = arena_alloc(column->arena, 2 * n + 1);

    hex_write(data, n, text);
    array_add_plain(column, (struct str){text, 2 * n});
}

static void add_items(struct columns *columns, const struct chain_block *block)
{
    const size_t before = columns->of[ENTRY_HASHES].n / SHA256_BYTES;

    array_add_int(&columns->of[FIRST], (int64_t)(before + 1));
    array_add_int(&columns->of[LAST], (int64_t)(before + block->n));
    for (size_t i = 0; i < block->n; i++) {
        ids_add(&columns->request_ids, &block->items[i].request_id);
        buf_add(&columns->of[ENTRY_HASHES],
                (struct str){(const char *)block->items[i].hash, SHA256_BYTES});
    }
}

static void add_marks(struct buf *columns, const struct chain_block *block, struct arena *arena)
{
    struct buf places, times;

    array_open(&places, arena, 16);
    array_open(&times, arena, 16);
    for (size_t i = 0; i < block->n_marks; i++) {
        array_add_int(&places, block->marks[i].place);
        array_add_int(&times, block->marks[i].created_us);
    }
    array_add(&columns[IMPLAUSIBLE], array_close(&places));
    array_add(&columns[IMPLAUSIBLE_US], array_close(&times));
}

static void add_block(struct columns *columns, struct signing_key *key,
                      const struct block_made *made, struct arena *arena)
{
    const struct chain_block *block = &made->block;
    uint8_t signature[SIGNING_SIGNATURE_BYTES];

    signing_make(
        key,
        chain_head_text(&block->organization_id, block->number, block->entries, made->hash, arena),
        signature);
    array_add_id(&columns->of[ORGANIZATION_ID], &block->organization_id);
    array_add_int(&columns->of[NUMBER], block->number);
    add_hex(&columns->of[PREVIOUS_HASH], block->previous_hash, SHA256_BYTES);
    array_add_int(&columns->of[ENTRIES], block->entries);
    array_add_int(&columns->of[LAST_XID], (int64_t)block->last_xid);
    array_add_id(&columns->of[LAST_REQUEST_ID], &block->items[block->n - 1].request_id);
    array_add_int(&columns->of[MADE_XID], (int64_t)block->made_xid);
    array_add_int(&columns->of[MADE_US], block->made_us);
    add_items(columns, block);
    add_marks(columns->of, block, arena);
    add_hex(&columns->of[BLOCK_HASH], made->hash, SHA256_BYTES);
    array_add(&columns->of[KEY_ID], block->key_id);
    add_hex(&columns->of[SIGNATURE], signature, sizeof(signature));
}

void blocks_add(struct db *db, struct signing_key *key, const struct block_made *blocks, size_t n,
                struct arena *arena)
{
    struct params params = {.n = 0};
    struct columns columns;
    size_t entries = 0;

    for (size_t i = 0; i < n; i++)
        entries += blocks[i].block.n;
    for (int i = 0; i < BLOCK_COLUMNS; i++)
        if (i == ENTRY_HASHES)
            buf_init(&columns.of[i], arena, entries * SHA256_BYTES);
        else
            array_open(&columns.of[i], arena, 256);
    ids_open(&columns.request_ids, arena, entries);
    for (size_t i = 0; i < n; i++)
        add_block(&columns, key, &blocks[i], arena);
    for (int i = 0; i < BLOCK_COLUMNS; i++)
        if (i == REQUEST_IDS)
            params_add_elements(&params, &columns.request_ids);
        else if (i == ENTRY_HASHES)
            params_add_bytes(&params, buf_str(&columns.of[i]));
        else
            params_add(&params, array_close(&columns.of[i]));
    db_add(db, SQL_ADD_BLOCKS, &params);
}
