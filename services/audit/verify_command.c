/*
 * audit.verify - one step of checking an organization's audit log against its seal.
 *
 * Answer   ok: all findings so far, with a `position` to continue from unless this is the end; or
 *          parameter_invalid
 * Place    the body of the next step is the `position` of the last reply, unchanged: the service
 *          keeps no state. The command is for operators, who could read the database as well.
 */

#include "audit_sql.h"
#include "common/base/ascii.h"
#include "common/base/clock.h"
#include "common/db/params.h"
#include "proto/subject.h"
#include "services/audit/audit.h"
#include "services/audit/ends_place.h"
#include "services/audit/verify.h"
#include "services/audit/verify_step.h"

/* Entries that one step looks at; a step delays the commands after it. */
enum { ENTRIES_A_STEP = 1000 };

/* Foreign blocks that one step looks back over. */
enum { BACK_MAX = 2000 };

/* Looking at this many costs as much as one get. */
enum { ENTRIES_A_UNIT = 2 };

static enum status verify_parse(struct command *command, void *service)
{
    struct verify_step *verify = ARENA_NEW(command->arena, struct verify_step);

    if (!verify_step_read(command, verify))
        return ST_REFUSED;
    command->state = verify;
    return ST_OK;
}

/* -- asking ----------------------------------------------------------------------------------- */

static size_t list_notes(struct db *db, struct arena *arena)
{
    return db_add(db, SQL_LIST_NOTES, PARAMS(param_int(arena, NOTES_MAX)));
}

/* Each statement sees what was committed when it began. Published heads are read before the blocks,
   so that each must have its block; notes are read last, so that they cover every entry that
   retention has dropped. */
static void ask_for_blocks(struct verify_step *verify, struct db *db, struct str organization,
                           struct arena *arena)
{
    const struct params *const params = PARAMS(organization, param_int(arena, verify->chain.number),
                                               param_int(arena, ENTRIES_A_STEP));

    verify->before = db_add(db, SQL_READ_ENDS, PARAMS(organization));
    verify->first = db_add(db, SQL_LIST_BLOCKS, params);
    verify->second = db_add(db, SQL_LIST_BLOCK_ENTRIES, params);
    verify->third = list_notes(db, arena);
}

/* Begins with the entry that was looked at last, to find out whether it exists twice. */
static size_t list_entries(const struct verify_step *verify, struct db *db, struct str organization,
                           struct arena *arena)
{
    char after[UUID_TEXT + 1];

    uuid_format(&verify->after, after);
    return db_add(db, SQL_LIST_COVERED_ENTRIES,
                  PARAMS(organization, verify->has_begun ? verify->at : STR("-infinity"),
                         str_of(after), param_int(arena, ENTRIES_A_STEP + 1)));
}

static size_t look_for_nameless(const struct verify_step *verify, struct db *db,
                                struct str organization)
{
    return db_add(db, SQL_HAS_NAMELESS,
                  PARAMS(organization, verify->has_begun ? verify->at : STR("-infinity")));
}

/* The sealed place is read first: the blocks of all entries below it are then visible. */
static void ask_for_entries(struct verify_step *verify, struct db *db, struct str organization,
                            struct arena *arena)
{
    verify->first = ends_ask_place(db, NULL);
    verify->second = list_entries(verify, db, organization, arena);
    verify->third =
        db_add(db, SQL_READ_HEAD, PARAMS(organization, param_int(arena, verify->chain.number)));
    verify->before = list_notes(db, arena);
    verify->fourth = look_for_nameless(verify, db, organization);
}

static void verify_query(struct command *command, struct db *db, void *service)
{
    struct verify_step *verify = command->state;
    char organization[UUID_TEXT + 1];

    uuid_format(&command->caller.organization_id, organization);
    if (verify->is_along_entries)
        ask_for_entries(verify, db, str_of(organization), command->arena);
    else
        ask_for_blocks(verify, db, str_of(organization), command->arena);
}

/* -- looking along the chain ------------------------------------------------------------------ */

/* The published hash of a row of list_blocks.sql, or NULL. A malformed one matches no block. */
static const uint8_t *read_published(const struct db_rows *rows, size_t row, struct arena *arena)
{
    struct str published = db_value(rows, row, LIST_BLOCKS_PUBLISHED_HASH);
    uint8_t *hash = arena_alloc(arena, SHA256_BYTES);

    if (published.p == NULL)
        return NULL;
    (void)hex_read(published, hash, SHA256_BYTES);
    return hash;
}

/* Reads the block's rows of list_block_entries.sql, from *row on, and moves *row past them. */
static const struct verify_entry *read_entries(const struct db_rows *rows, size_t *row,
                                               int64_t block, size_t n, struct arena *arena)
{
    struct verify_entry *entries = ARENA_ARRAY(arena, struct verify_entry, n);

    for (size_t i = 0;
         *row < db_rows_count(rows) && db_value_int(rows, *row, LIST_BLOCK_ENTRIES_NUMBER) <= block;
         (*row)++) {
        struct str fields[CHAIN_COLUMNS];

        if (db_value_int(rows, *row, LIST_BLOCK_ENTRIES_NUMBER) < block || i == n)
            continue;
        for (int field = 0; field < CHAIN_COLUMNS; field++)
            fields[field] = db_value(rows, *row, LIST_BLOCK_ENTRIES_CHAIN + field);
        entries[i].is_there = fields[CHAIN_REQUEST_ID].p != NULL;
        if (entries[i].is_there)
            chain_hash_entry(fields, arena, entries[i].hash);
        i++;
    }
    return entries;
}

static void look_at_block(struct verify_step *verify, struct command *command, struct db *db,
                          const struct audit_keys *keys, int64_t dropped_us, size_t i,
                          size_t *entry)
{
    const struct db_rows *blocks = db_result(db, verify->first);
    struct verify_block block;

    if (!verify_read_block(blocks, i, command->arena, &block)) {
        verify_malformed(&verify->chain, db_value_int(blocks, i, VERIFY_NUMBER), &verify->report);
        return;
    }
    block.sealed.organization_id = command->caller.organization_id;
    block.published_hash = read_published(blocks, i, command->arena);
    block.entries = read_entries(db_result(db, verify->second), entry, block.sealed.number,
                                 block.sealed.n, command->arena);
    if (verify->head_number == block.sealed.number)
        block.kept_hash = verify->head_hash;
    verify_block(&verify->chain, &block, keys, dropped_us, command->arena, &verify->report);
}

static void look_along_chain(struct verify_step *verify, struct command *command, struct db *db,
                             const struct audit_keys *keys)
{
    const struct db_rows *ends = db_result(db, verify->before);
    const size_t n = db_rows_count(db_result(db, verify->first));
    size_t entry = 0, n_notes;
    const struct note *notes = notes_read(db_result(db, verify->third), command->arena, &n_notes);
    const int64_t dropped_us = notes_reach(notes, n_notes, keys, command->arena);

    if (verify->chain.first == 0)
        verify->dropped_us = dropped_us;
    for (size_t i = 0; i < n; i++)
        look_at_block(verify, command, db, keys, dropped_us, i, &entry);
    if (n > 0)
        return;
    if (db_value_bool(ends, 0, READ_ENDS_HAS_STRANGE))
        verify_find(&verify->report, VERIFY_REWRITTEN, NULL, 0,
                    "there are blocks with impossible numbers");
    verify_end(&verify->chain, db_value_int(ends, 0, READ_ENDS_PUBLISHED), verify->head_number,
               &verify->report);
    verify_notes(notes, n_notes, keys, command->arena, &verify->report);
    verify->is_along_entries = true;
}

/* -- looking along the entries ---------------------------------------------------------------- */

/* If the last block of all is not ours, the last one of ours tells how far everything is sealed. It
   can be younger than the entries that were read, so they are read again. */
static enum status find_seal(struct verify_step *verify, struct command *command, struct db *db,
                             const struct audit_keys *keys, struct verify_seal *seal)
{
    const struct ends_search search = {.keys = keys, .passes_unknown = true, .max = BACK_MAX};
    const struct db_rows *rows = db_result(db, verify->first);
    struct ends_foreign foreign = {.n = 0};
    char organization[UUID_TEXT + 1];
    enum ends_found found = ENDS_FOUND;
    struct ends_place place;
    enum status st = ST_OK;

    if (ends_read_place(rows, keys, command->arena, &place) != ENDS_OURS) {
        st = ends_find_place(db, rows, &search, command->arena, &place, &found, &foreign);
        uuid_format(&command->caller.organization_id, organization);
        verify->second = list_entries(verify, db, str_of(organization), command->arena);
        verify->before = list_notes(db, command->arena);
        if (st == ST_OK)
            st = db_run(db);
    }
    if (found == ENDS_TOO_FAR)
        verify_find(&verify->report, VERIFY_NOT_SEALED, NULL, 0,
                    "cannot tell how far the audit log is sealed: too many blocks are not ours");
    *seal = (struct verify_seal){.place = place.at,
                                 .made_xid = place.made_xid,
                                 .made_us = place.made_us,
                                 .now_us = clock_us(),
                                 .walked = verify->chain.number};
    return st;
}

/* Whether retention has dropped nothing since the walk began. */
static bool is_settled(const struct verify_step *verify, struct command *command, struct db *db,
                       const struct audit_keys *keys)
{
    size_t n;
    const struct note *notes = notes_read(db_result(db, verify->before), command->arena, &n);

    return notes_reach(notes, n, keys, command->arena) == verify->dropped_us;
}

/* Reads all but the organization. */
static struct verify_covered read_covered(const struct db_rows *rows, size_t row)
{
    struct verify_covered covered = {
        .entry.is_implausible = db_value_bool(rows, row, LIST_COVERED_ENTRIES_IS_MARKED),
        .block = db_value_int(rows, row, LIST_COVERED_ENTRIES_NUMBER),
        .is_sealed = db_value_bool(rows, row, LIST_COVERED_ENTRIES_IS_SEALED),
        .is_known = db_value_bool(rows, row, LIST_COVERED_ENTRIES_IS_KNOWN),
        .is_ahead = db_value_bool(rows, row, LIST_COVERED_ENTRIES_IS_AHEAD),
        .is_moving = db_value_bool(rows, row, LIST_COVERED_ENTRIES_IS_MOVING),
    };
    struct block_entry *entry = &covered.entry;

    covered.is_unreadable =
        !uuid_parse(db_value(rows, row, LIST_COVERED_ENTRIES_REQUEST_ID),
                    &entry->place.request_id) ||
        !str_to_u64(db_value(rows, row, LIST_COVERED_ENTRIES_XID), UINT64_MAX, &entry->place.xid) ||
        !chain_read_us(db_value(rows, row, LIST_COVERED_ENTRIES_CREATED_US), &entry->created_us);
    return covered;
}

static bool is_as_last(const struct verify_step *verify, const struct db_rows *rows, size_t row)
{
    struct uuid id;

    return verify->has_begun &&
           uuid_parse(db_value(rows, row, LIST_COVERED_ENTRIES_REQUEST_ID), &id) &&
           uuid_equal(&id, &verify->after) &&
           str_equal(db_value(rows, row, LIST_COVERED_ENTRIES_AT), verify->at);
}

static void look_at_entry(struct verify_step *verify, struct command *command,
                          const struct db_rows *rows, size_t row, const struct verify_seal *seal)
{
    struct verify_covered covered = read_covered(rows, row);

    covered.entry.place.organization_id = command->caller.organization_id;
    verify->entries++;
    if (is_as_last(verify, rows, row)) {
        verify_find(&verify->report, VERIFY_INSERTED, &covered.entry.place.request_id,
                    covered.block, "the entry exists twice");
    } else if (verify_covered(&covered, seal, &verify->report)) {
        verify->sealed++;
        verify->met +=
            covered.block >= verify->chain.first && covered.block <= verify->chain.number;
    }
    verify->after = covered.entry.place.request_id;
    verify->after_us = covered.entry.created_us;
    verify->at = arena_str(command->arena, db_value(rows, row, LIST_COVERED_ENTRIES_AT));
    verify->has_begun = true;
}

static enum status look_along_entries(struct verify_step *verify, struct command *command,
                                      struct db *db, const struct audit_keys *keys)
{
    const struct db_rows *rows;
    struct verify_seal seal;
    size_t n, seen;
    bool has_moved;
    enum status st = find_seal(verify, command, db, keys, &seal);

    if (st != ST_OK)
        return st;
    if (db_value_bool(db_result(db, verify->fourth), 0, HAS_NAMELESS_IS_THERE))
        verify_find(&verify->report, VERIFY_INSERTED, NULL, 0, "the entry cannot be sealed");
    rows = db_result(db, verify->second);
    n = db_rows_count(rows);
    seen = n > 0 && is_as_last(verify, rows, 0) ? 1 : 0;
    has_moved = n > seen && !is_as_last(verify, rows, n - 1);
    for (size_t i = seen; i < n; i++)
        look_at_entry(verify, command, rows, i, &seal);
    /* If a step has only duplicates of one entry, the walk cannot get past them. */
    verify->is_done = n < ENTRIES_A_STEP + 1 || !has_moved;
    if (!verify->is_done)
        return ST_OK;
    if (!verify->is_part)
        verify_count(&verify->chain, verify->met, is_settled(verify, command, db, keys),
                     &verify->report);
    if (verify->head_number > 0)
        verify_given_head(&verify->chain, verify->head_number, &verify->report);
    return ST_OK;
}

/* -- replying --------------------------------------------------------------------------------- */

static enum status verify_reply(struct command *command, struct db *db, void *service)
{
    const struct audit *self = service;
    struct verify_step *verify = command->state;
    const bool was_along_entries = verify->is_along_entries;
    enum status st = ST_OK;

    if (was_along_entries)
        st = look_along_entries(verify, command, db, &self->signing);
    else
        look_along_chain(verify, command, db, &self->signing);
    if (st != ST_OK)
        return st;

    command->cost += (uint32_t)db_rows_count(db_result(db, verify->second)) / ENTRIES_A_UNIT;
    verify_step_write(verify, was_along_entries ? db_result(db, verify->third) : NULL,
                      &self->signing, &command->reply);
    return ST_OK;
}

const struct command_handler audit_verify = {
    .subject = SUBJECT_AUDIT_VERIFY,
    .needs_organization = true,
    .parse = verify_parse,
    .query = verify_query,
    .reply = verify_reply,
};
