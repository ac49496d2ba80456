#include "services/audit/pass.h"

#include <inttypes.h>

#include "audit_sql.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/db/array.h"

enum { ENTRIES_MOST = 5000, PATIENCE_US = 20 * 1000 * 1000 };

static uint64_t xid_of(struct str text)
{
    uint64_t xid = 0;

    must(str_to_u64(text, UINT64_MAX, &xid));
    return xid;
}

/* -- reading ---------------------------------------------------------------------------------- */

struct block_place pass_read_place(const struct db_rows *rows)
{
    struct block_place place = {0};

    if (db_value(rows, 0, 0).p != NULL) {
        place.xid = xid_of(db_value(rows, 0, 0));
        must(uuid_parse(db_value(rows, 0, 1), &place.organization_id));
        must(uuid_parse(db_value(rows, 0, 2), &place.request_id));
    }
    return place;
}

static size_t list_unsealed(const struct pass *pass, struct db *db, const struct block_place *place,
                            struct str horizon, struct arena *arena)
{
    char organization[UUID_TEXT + 1], request[UUID_TEXT + 1];

    uuid_format(&place->organization_id, organization);
    uuid_format(&place->request_id, request);
    const db_param params[] = {
        str_of(arena_printf(arena, "%" PRIu64, place->xid)),
        str_of(organization),
        str_of(request),
        horizon,
        str_of(arena_printf(arena, "%zu", pass->entries_most)),
    };
    return db_add(db, SQL_LIST_UNSEALED, params, sizeof(params) / sizeof(params[0]));
}

static void read_entry(const struct db_rows *rows, size_t row, struct arena *arena,
                       struct block_entry *out)
{
    struct str fields[CHAIN_FIELDS];

    for (int i = 0; i < CHAIN_FIELDS; i++)
        fields[i] = db_value(rows, row, i);
    chain_hash_entry(fields, arena, out->hash);
    must(uuid_parse(fields[CHAIN_ORGANIZATION_ID], &out->place.organization_id));
    must(uuid_parse(fields[CHAIN_REQUEST_ID], &out->place.request_id));
    out->place.xid = xid_of(fields[CHAIN_XID]);
    out->created_us = db_value_int(rows, row, CHAIN_CREATED_US);
}

static size_t read_heads(const struct db_rows *rows, struct arena *arena, struct block_head **out)
{
    size_t n = db_rows_count(rows);

    *out = ARENA_ARRAY(arena, struct block_head, n);
    for (size_t i = 0; i < n; i++) {
        struct block_head *head = &(*out)[i];

        must(uuid_parse(db_value(rows, i, 0), &head->organization_id));
        head->number = db_value_int(rows, i, 1);
        head->entries = db_value_int(rows, i, 2);
        must(crypto_unhex(db_value(rows, i, 3), head->hash, sizeof(head->hash)));
    }
    return n;
}

/* -- writing ---------------------------------------------------------------------------------- */

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
    REQUEST_IDS,
    ENTRY_HASHES,
    BLOCK_HASH,
    KEY_ID,
    SIGNATURE,
    BLOCK_COLUMNS
};

static void add_hex(struct buf *column, const void *data, size_t n)
{
    char *text = arena_alloc(column->arena, 2 * n + 1);

    crypto_hex(data, n, text);
    array_add_plain(column, (struct str){text, 2 * n});
}

static void add_items(struct buf *columns, const struct chain_block *block, struct arena *arena)
{
    const size_t id_room = UUID_TEXT + 1;
    char *hashes = arena_alloc(arena, block->n * 2 * SHA256_BYTES + 1);
    struct buf ids;

    array_open(&ids, arena, 2 + block->n * id_room);
    for (size_t i = 0; i < block->n; i++) {
        array_add_id(&ids, &block->items[i].request_id);
        crypto_hex(block->items[i].hash, SHA256_BYTES, hashes + i * 2 * SHA256_BYTES);
    }
    array_add(&columns[REQUEST_IDS], array_close(&ids));
    array_add_plain(&columns[ENTRY_HASHES], str_of(hashes));
}

static void add_block(struct buf *columns, struct signing_key *key, const struct block_made *made,
                      struct arena *arena)
{
    const struct chain_block *block = &made->block;
    uint8_t signature[SIGNING_SIGNATURE_BYTES];

    signing_make(
        key,
        chain_head_text(&block->organization_id, block->number, block->entries, made->hash, arena),
        signature);
    array_add_id(&columns[ORGANIZATION_ID], &block->organization_id);
    array_add_int(&columns[NUMBER], block->number);
    add_hex(&columns[PREVIOUS_HASH], block->previous_hash, SHA256_BYTES);
    array_add_int(&columns[ENTRIES], block->entries);
    array_add_int(&columns[LAST_XID], (int64_t)block->last_xid);
    array_add_id(&columns[LAST_REQUEST_ID], &block->items[block->n - 1].request_id);
    array_add_int(&columns[MADE_XID], (int64_t)block->made_xid);
    array_add_int(&columns[MADE_US], block->made_us);
    add_items(columns, block, arena);
    add_hex(&columns[BLOCK_HASH], made->hash, SHA256_BYTES);
    array_add(&columns[KEY_ID], block->key_id);
    add_hex(&columns[SIGNATURE], signature, sizeof(signature));
}

static void add_blocks(const struct pass *pass, struct db *db, const struct block_made *blocks,
                       size_t n, struct arena *arena)
{
    struct buf columns[BLOCK_COLUMNS];
    db_param params[BLOCK_COLUMNS];

    for (int i = 0; i < BLOCK_COLUMNS; i++)
        array_open(&columns[i], arena, 256);
    for (size_t i = 0; i < n; i++)
        add_block(columns, pass->key, &blocks[i], arena);
    for (int i = 0; i < BLOCK_COLUMNS; i++)
        params[i] = array_close(&columns[i]);
    db_add(db, SQL_ADD_BLOCKS, params, BLOCK_COLUMNS);
}

/* -- the step --------------------------------------------------------------------------------- */

/* A step on its way: what has been read so far. */
struct step {
    struct pass *pass;
    struct db *db;
    struct arena *arena;
    struct block_entry *entries;
    size_t n;
    struct block_place seen;
};

/* The entries behind the place, and what of them waits for an older transaction. */
static enum status list(struct step *step, struct str horizon)
{
    struct pass *pass = step->pass;
    size_t entries = list_unsealed(pass, step->db, &step->seen, horizon, step->arena);
    size_t waiting = db_add(step->db, SQL_READ_WAITING, &horizon, 1);
    const struct db_rows *rows;
    enum status st = db_run(step->db);

    if (st != ST_OK)
        return st;
    rows = db_result(step->db, entries);
    step->n = db_rows_count(rows);
    step->entries = ARENA_ARRAY(step->arena, struct block_entry, step->n);
    for (size_t i = 0; i < step->n; i++)
        read_entry(rows, i, step->arena, &step->entries[i]);
    if (step->n > 0)
        step->seen = step->entries[step->n - 1].place;
    pass->is_behind = step->n == pass->entries_most;
    rows = db_result(step->db, waiting);
    if (pass->is_behind)
        pass->oldest_us = step->entries[step->n - 1].created_us;
    else if (db_rows_count(rows) > 0)
        pass->oldest_us = db_value_int(rows, 0, 0);
    return ST_OK;
}

/* Finds the place and reads what is behind it. */
static enum status look(struct step *step)
{
    struct pass *pass = step->pass;
    struct db *db = step->db;
    size_t lock = db_add(db, SQL_LOCK_SEALING, NULL, 0);
    size_t where = db_add(db, SQL_READ_PLACE, NULL, 0);
    const struct db_rows *rows;
    struct str horizon;
    enum status st = db_run(db);

    if (st != ST_OK)
        return st;
    pass->was_first = db_value_bool(db_result(db, lock), 0, 0);
    if (!pass->was_first)
        return ST_OK;
    rows = db_result(db, where);
    horizon = db_value(rows, 0, 3);
    step->seen = pass_read_place(rows);
    pass->is_adrift = step->seen.xid >= xid_of(horizon);
    if (block_compare_places(&step->seen, &pass->seen) < 0)
        step->seen = pass->seen;
    return list(step, horizon);
}

/* Keeps the entries that are to be sealed. */
static void leave_out_implausible(struct step *step, const struct block_stamp *stamp)
{
    struct pass *pass = step->pass;
    size_t kept = 0;

    for (size_t i = 0; i < step->n; i++) {
        const struct block_entry *entry = &step->entries[i];

        if (chain_is_plausible(&entry->place.request_id, entry->created_us, stamp->since_us,
                               stamp->made_us))
            step->entries[kept++] = *entry;
        else if (pass->implausible++ == 0)
            pass->suspect = entry->place.request_id;
    }
    step->n = kept;
}

static struct str organizations_of(const struct step *step)
{
    struct buf ids;

    /* Some more than once: that costs a look at an index. */
    array_open(&ids, step->arena, step->n * (UUID_TEXT + 1) + 2);
    for (size_t i = 0; i < step->n; i++)
        if (i == 0 || !uuid_equal(&step->entries[i].place.organization_id,
                                  &step->entries[i - 1].place.organization_id))
            array_add_id(&ids, &step->entries[i].place.organization_id);
    return array_close(&ids);
}

static enum status seal(struct step *step)
{
    struct pass *pass = step->pass;
    struct db *db = step->db;
    const db_param first[] = {
        str_of(arena_printf(step->arena, "%" PRIu64, step->entries[0].place.xid))};
    const db_param organizations[] = {organizations_of(step)};
    size_t when = db_add(db, SQL_READ_STAMP, first, 1);
    size_t ends = db_add(db, SQL_READ_HEADS, organizations, 1);
    const struct db_rows *rows;
    struct block_stamp stamp = {.key_id = str_of(signing_key_public(pass->key)->id)};
    struct block_head *heads;
    struct block_made *blocks;
    enum status st = db_run(db);

    if (st != ST_OK)
        return st;
    rows = db_result(db, when);
    stamp.made_xid = xid_of(db_value(rows, 0, 0));
    stamp.made_us = db_value_int(rows, 0, 1);
    stamp.since_us = db_value(rows, 0, 2).p != NULL ? db_value_int(rows, 0, 2) : 0;
    leave_out_implausible(step, &stamp);
    if (step->n == 0)
        return ST_OK;
    size_t n_heads = read_heads(db_result(db, ends), step->arena, &heads);
    pass->blocks =
        blocks_make(step->entries, step->n, heads, n_heads, &stamp, step->arena, &blocks);
    pass->sealed = step->n;
    add_blocks(pass, db, blocks, pass->blocks, step->arena);
    return ST_OK;
}

enum status pass_step(struct pass *pass, struct db *db, struct arena *arena)
{
    struct step step = {.pass = pass, .db = db, .arena = arena};
    enum status st;

    if (pass->entries_most == 0)
        pass->entries_most = ENTRIES_MOST;
    pass->was_first = pass->is_behind = pass->is_adrift = false;
    pass->oldest_us = 0;
    pass->sealed = pass->blocks = pass->implausible = 0;
    db_open_batch(db, clock_us() + PATIENCE_US);
    st = look(&step);
    if (st == ST_OK && step.n > 0)
        st = seal(&step);
    if (st != ST_OK)
        return st;
    st = db_commit(db);
    if (st == ST_OK && pass->was_first)
        pass->seen = step.seen;
    return st;
}
