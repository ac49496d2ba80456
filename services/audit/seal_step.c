#include "services/audit/seal_step.h"

#include <string.h>

#include "audit_sql.h"
#include "common/base/clock.h"
#include "common/base/clock_check.h"
#include "common/db/params.h"
#include "services/audit/blocks_add.h"
#include "services/audit/chain.h"
#include "services/audit/ends_place.h"
#include "services/audit/unsealed.h"

enum { ENTRIES_MAX = 5000, TIMEOUT_US = 20 * 1000 * 1000, BACK_MAX = 100 * 1000 };

/* The state of a step. */
struct step {
    struct seal_step *sealing;
    struct db *db;
    struct arena *arena;
    struct str horizon; /* below this transaction everything is settled */
    struct ends_place place;
    struct ends_place latest; /* the latest known block made on this server, usually the place */
    struct block_entry *entries;
    size_t n;
    struct block_place seen;
    struct block_made *blocks;
};

static void leave_out(struct step *step, const struct block_entry *entry)
{
    struct seal_step *sealing = step->sealing;

    if (sealing->left_out++ == 0)
        sealing->left = entry->place.request_id;
}

/* Seals one entry of each place: only the owner of the database can have inserted more. */
static void read_entries(struct step *step, const struct db_rows *rows)
{
    const size_t n = db_rows_count(rows);

    step->entries = ARENA_ARRAY(step->arena, struct block_entry, n);
    for (size_t i = 0; i < n; i++) {
        struct block_entry *entry = &step->entries[step->n];
        const bool is_read = unsealed_read(rows, i, step->arena, entry);
        const bool is_behind = block_compare_places(&entry->place, &step->seen) > 0;

        if (is_behind)
            step->seen = entry->place;
        if (is_read && is_behind)
            step->n++;
        else
            leave_out(step, entry);
    }
    step->sealing->is_behind = n == step->sealing->entries_max;
}

/* The time of the oldest waiting entry, within the limits of what is possible: no later than now
   and, if its transaction is younger than the last block, not long before that block. */
static int64_t oldest_of(const struct step *step, const struct db_rows *waiting)
{
    const int64_t min_us = step->latest.made_us - CHAIN_CLOCK_US, now_us = clock_us();
    int64_t us = 0;

    if (step->sealing->is_behind && step->n > 0)
        us = step->entries[step->n - 1].created_us;
    else if (db_rows_count(waiting) == 0 ||
             !chain_read_us(db_value(waiting, 0, READ_WAITING_CREATED_US), &us))
        return 0;
    return us > now_us ? now_us : us < min_us && us < now_us - CHAIN_CLOCK_US ? min_us : us;
}

/* Reads the entries after the place, and the first one that waits for an older transaction. */
static enum status list(struct step *step)
{
    size_t entries =
        unsealed_ask(step->db, &step->seen, step->horizon, step->sealing->entries_max, step->arena);
    size_t waiting = db_add(step->db, SQL_READ_WAITING, PARAMS(step->horizon));
    enum status st = db_run(step->db);

    if (st != ST_OK)
        return st;
    read_entries(step, db_result(step->db, entries));
    step->sealing->oldest_us = oldest_of(step, db_result(step->db, waiting));
    return ST_OK;
}

/* Compares the clocks: `theirs` was read between `asked_us` and now. */
static enum status compare_clocks(struct seal_step *sealing, int64_t asked_us, struct str theirs)
{
    int64_t theirs_us;

    if (!chain_read_us(theirs, &theirs_us))
        return ST_INTERNAL;
    sealing->clock_skew_ms =
        clock_difference_ms(asked_us / 1000, clock_us() / 1000, theirs_us / 1000);
    return ST_OK;
}

/* There are blocks beyond the horizon. If they are ours, the audit log is from another server. */
static enum status look_ahead(struct step *step)
{
    struct seal_step *sealing = step->sealing;
    struct ends_place place = {.made_us = 0};
    uint64_t horizon = 0;
    enum status st;

    if (!str_to_u64(step->horizon, UINT64_MAX, &horizon))
        return ST_INTERNAL;
    st = ends_look_ahead(step->db, sealing->keys, horizon, step->arena, &place, &sealing->foreign);
    sealing->is_adrift = st == ST_OK && place.made_us != 0;
    return st;
}

/* Finds the place, if this replica can continue from there. */
static enum status find_place(struct step *step, const struct db_rows *rows)
{
    struct seal_step *sealing = step->sealing;
    const struct ends_search search = {
        .keys = sealing->keys, .known = sealing->memory.place, .max = BACK_MAX};
    enum ends_found found;
    enum status st = ends_find_place(step->db, rows, &search, step->arena, &step->place, &found,
                                     &sealing->foreign);

    sealing->lacks_key = st == ST_OK && found == ENDS_LACKS_KEY;
    sealing->is_lost = st == ST_OK && found == ENDS_TOO_FAR;
    step->latest = step->place.is_here ? step->place : sealing->memory.since;
    return st;
}

/* Finds the place and reads the entries after it, unless nothing can be sealed. */
static enum status look(struct step *step)
{
    struct seal_step *sealing = step->sealing;
    struct db *db = step->db;
    const int64_t asked_us = clock_us();
    size_t lock = db_add(db, SQL_LOCK_SEALING, NULL);
    size_t where;
    const struct db_rows *rows;
    enum status st;

    (void)db_add(db, SQL_OPEN_EXPIRED, NULL);
    where = ends_ask_place(db, NULL);
    st = db_run(db);
    if (st != ST_OK)
        return st;
    sealing->was_first = db_value_bool(db_result(db, lock), 0, LOCK_SEALING_IS_FIRST);
    if (!sealing->was_first)
        return ST_OK;
    st = compare_clocks(sealing, asked_us, db_value(db_result(db, lock), 0, LOCK_SEALING_NOW_US));
    if (st != ST_OK || seal_step_has_stopped(sealing))
        return st;
    rows = db_result(db, where);
    step->horizon = db_value(rows, 0, READ_PLACE_HORIZON);
    if (db_value_bool(rows, 0, READ_PLACE_IS_AHEAD))
        st = look_ahead(step);
    if (st == ST_OK && !seal_step_has_stopped(sealing))
        st = find_place(step, rows);
    if (st != ST_OK || seal_step_has_stopped(sealing))
        return st;
    step->seen = block_compare_places(&step->place.at, &sealing->memory.seen) < 0
                     ? sealing->memory.seen
                     : step->place.at;
    return list(step);
}

static struct str organizations_of(const struct step *step)
{
    struct buf ids;

    /* Some occur more than once, which costs only an index lookup each. */
    array_open(&ids, step->arena, step->n * (UUID_TEXT + 1) + 2);
    for (size_t i = 0; i < step->n; i++)
        if (i == 0 || !uuid_equal(&step->entries[i].place.organization_id,
                                  &step->entries[i - 1].place.organization_id))
            array_add_id(&ids, &step->entries[i].place.organization_id);
    return array_close(&ids);
}

/* Finds a block made on this server before the first of the entries' transactions began: the entries
   cannot be older. Usually it is the last block of all. If no later one is near, the block from an
   earlier step still serves, because transactions come in order. Blocks that come from another cell
   have lower numbers and are made now: they prove nothing. */
static enum status find_since(struct step *step)
{
    struct ends_place *since = &step->sealing->memory.since;
    const uint64_t first = step->entries[0].place.xid;

    if (first <= step->latest.made_xid)
        return ends_find_since(step->db, first, step->sealing->keys, step->arena, since,
                               &step->sealing->foreign);
    *since = step->latest;
    return ST_OK;
}

static void count_mark(struct seal_step *sealing, const struct block_entry *entry)
{
    const struct uuid *id = &entry->place.request_id;

    if (chain_has_own_time(id, entry->created_us)) {
        if (sealing->misdated++ == 0)
            sealing->dated = *id;
    } else if (sealing->implausible++ == 0) {
        sealing->suspect = *id;
    }
}

/* The lower bound of an entry's time is the latest block of this server, if its transaction is
   younger, or else an older block. */
static void mark_implausible(struct step *step, const struct ends_place *since, int64_t now_us)
{
    struct seal_step *sealing = step->sealing;

    for (size_t i = 0; i < step->n; i++) {
        struct block_entry *entry = &step->entries[i];
        const bool is_younger = entry->place.xid > step->latest.made_xid;
        const int64_t since_us = is_younger ? step->latest.made_us : since->made_us;

        entry->is_implausible =
            !chain_is_plausible(&entry->place.request_id, entry->created_us, since_us, now_us);
        if (entry->is_implausible)
            count_mark(sealing, entry);
    }
}

static bool is_stuck(const struct block_head *head, size_t n)
{
    return head->number >= BLOCK_NUMBER_MAX - (int64_t)n ||
           head->entries >= BLOCK_NUMBER_MAX - (int64_t)n;
}

/* Leaves out the entries of chains that have used up their numbers and cannot grow, which only the
   owner of the database can cause. All other chains go on. */
static void leave_out_stuck(struct step *step, const struct block_head *heads, size_t n_heads)
{
    const size_t n = step->n;
    size_t kept = 0, n_stuck = 0;

    for (size_t i = 0; i < n_heads; i++)
        n_stuck += is_stuck(&heads[i], n);
    if (n_stuck == 0)
        return;
    for (size_t i = 0; i < n; i++) {
        const struct block_entry *entry = &step->entries[i];
        const struct block_head *head =
            block_find_head(&entry->place.organization_id, heads, n_heads);

        if (head == NULL || !is_stuck(head, n))
            step->entries[kept++] = *entry;
        else
            leave_out(step, entry);
    }
    step->n = kept;
}

/* Reads the heads of the entries' chains, and the time of the blocks, which is compared as well. */
static enum status read_heads(struct step *step, struct block_stamp *stamp, size_t *heads)
{
    struct db *db = step->db;
    const int64_t asked_us = clock_us();
    const size_t when = db_add(db, SQL_READ_STAMP, NULL);
    enum status st;

    *heads = db_add(db, SQL_READ_HEADS, PARAMS(organizations_of(step)));
    st = db_run(db);
    if (st != ST_OK)
        return st;
    if (!str_to_u64(db_value(db_result(db, when), 0, READ_STAMP_MADE_XID), UINT64_MAX,
                    &stamp->made_xid) ||
        !chain_read_us(db_value(db_result(db, when), 0, READ_STAMP_MADE_US), &stamp->made_us))
        return ST_INTERNAL;
    return compare_clocks(step->sealing, asked_us,
                          db_value(db_result(db, when), 0, READ_STAMP_MADE_US));
}

static enum status seal(struct step *step)
{
    struct seal_step *sealing = step->sealing;
    struct db *db = step->db;
    size_t ends;
    struct block_stamp stamp = {.key_id = str_of(signing_key_public(sealing->keys->own)->id)};
    struct block_head *heads;
    size_t n_heads;
    enum status st = read_heads(step, &stamp, &ends);

    if (st == ST_OK && clock_is_skewed(sealing->clock_skew_ms)) {
        sealing->is_behind = false; /* another step at once would find the same */
        return ST_OK;
    }
    if (st == ST_OK)
        st = find_since(step);
    if (st == ST_OK)
        st = ends_find_heads(db, db_result(db, ends), sealing->keys, &sealing->memory.heads,
                             step->arena, &heads, &n_heads, &sealing->foreign);
    sealing->lacks_key = sealing->foreign.has_unknown;
    if (st != ST_OK || sealing->lacks_key)
        return st;
    leave_out_stuck(step, heads, n_heads);
    if (step->n == 0)
        return ST_OK;
    mark_implausible(step, &sealing->memory.since, stamp.made_us);
    sealing->blocks =
        blocks_make(step->entries, step->n, heads, n_heads, &stamp, step->arena, &step->blocks);
    sealing->sealed = step->n;
    blocks_add(db, sealing->keys->own, step->blocks, sealing->blocks, step->arena);
    return ST_OK;
}

static void remember(const struct step *step)
{
    struct seal_step_memory *memory = &step->sealing->memory;

    memory->place = step->place;
    memory->seen = step->seen;
    for (size_t i = 0; step->blocks != NULL && i < step->sealing->blocks; i++) {
        const struct chain_block *block = &step->blocks[i].block;
        struct block_head head = {block->organization_id, block->number, block->entries, {0}};

        memcpy(head.hash, step->blocks[i].hash, SHA256_BYTES);
        ends_know(&memory->heads, &head);
    }
}

static void forget_last(struct seal_step *sealing)
{
    sealing->was_first = sealing->is_behind = false;
    sealing->is_adrift = sealing->lacks_key = sealing->is_lost = false;
    sealing->oldest_us = sealing->clock_skew_ms = 0;
    sealing->sealed = sealing->blocks = sealing->left_out = 0;
    sealing->implausible = sealing->misdated = 0;
    sealing->foreign = (struct ends_foreign){0};
}

bool seal_step_has_stopped(const struct seal_step *sealing)
{
    return sealing->is_adrift || sealing->lacks_key || sealing->is_lost ||
           clock_is_skewed(sealing->clock_skew_ms);
}

enum status seal_step_run(struct seal_step *sealing, struct db *db, struct arena *arena)
{
    struct step step = {.sealing = sealing, .db = db, .arena = arena};
    enum status st;

    if (sealing->entries_max == 0)
        sealing->entries_max = ENTRIES_MAX;
    forget_last(sealing);
    db_open_batch(db, clock_us() + TIMEOUT_US);
    st = look(&step);
    if (st == ST_OK && step.n > 0)
        st = seal(&step);
    if (st == ST_OK)
        st = db_commit(db);
    if (st == ST_OK && sealing->was_first && !seal_step_has_stopped(sealing))
        remember(&step);
    return st;
}
