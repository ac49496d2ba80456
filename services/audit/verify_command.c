/*
 * audit.verify - one step of holding an organization's trail against its seal.
 *
 * Answer   ok: what has been found so far, with a `position` to go on from unless it is the end; or
 *          parameter_invalid
 * Place    the body of the next step is the `position` of the last answer, as it is: nothing is
 *          kept here. Whoever asks is an operator, who could as well read the database.
 */
#include <inttypes.h>

#include "audit_sql.h"
#include "common/base/log.h"
#include "common/wire/fields.h"
#include "services/audit/audit.h"
#include "services/audit/verify_rows.h"
#include "services/audit/verify_step.h"

/* What one step looks at; a step holds up the commands behind it. */
enum { ENTRIES_A_STEP = 1000 };

#define COUNT_MOST (INT64_C(1) << 53)

static const char *const phases[] = {"blocks", "entries", NULL};

#define COUNT_FROM(least_, name_)                                                                  \
    {                                                                                              \
        .name = #name_, .kind = FIELD_INT, .least = (least_), .most = COUNT_MOST,                  \
        .offset = offsetof(struct verify_position, name_)                                          \
    }
#define COUNT(name_) COUNT_FROM(0, name_)
#define HASH(name_)                                                                                \
    {                                                                                              \
        .name = #name_, .kind = FIELD_TEXT, .least = 2L * SHA256_BYTES, .most = 2L * SHA256_BYTES, \
        .offset = offsetof(struct verify_position, name_)                                          \
    }

static const struct field fields[] = {
    {.name = "phase",
     .kind = FIELD_CHOICE,
     .choices = phases,
     .offset = offsetof(struct verify_position, phase)},
    COUNT(block),
    COUNT(chained),
    COUNT(expired),
    HASH(hash),
    {.name = "after_us",
     .kind = FIELD_INT,
     .least = -COUNT_MOST,
     .most = COUNT_MOST * 100,
     .offset = offsetof(struct verify_position, after_us)},
    COUNT(entries),
    COUNT(sealed),
    {.name = "after", .kind = FIELD_UUID, .offset = offsetof(struct verify_position, after)},
    COUNT_FROM(1, head_number),
    HASH(head_hash),
    {.name = "head_met", .kind = FIELD_BOOL, .offset = offsetof(struct verify_position, head_met)},
};

enum status audit_verify_judge(struct command *command, void *service)
{
    struct verify_step *verify = ARENA_NEW(command->arena, struct verify_step);
    struct verify_position *from = &verify->from;
    struct str body = command->body.n > 0 ? command->body : STR("{}");

    if (uuid_is_nil(&command->caller.organization_id))
        return command_refuse(command, OUTCOME_PARAMETER_NOT_FOUND, "organization_id",
                              "is required");
    if (!fields_read_body(body, fields, sizeof(fields) / sizeof(fields[0]), from,
                          &command->problems))
        return command_refuse_all(command, fields_outcome(&command->problems));
    if (from->hash.p != NULL && !crypto_unhex(from->hash, verify->chain.hash, SHA256_BYTES))
        return command_refuse(command, OUTCOME_PARAMETER_INVALID, "hash", "must be hex digits");
    if (from->head_hash.p != NULL &&
        !crypto_unhex(from->head_hash, verify->kept_hash, SHA256_BYTES))
        return command_refuse(command, OUTCOME_PARAMETER_INVALID, "head_hash",
                              "must be 64 hex digits in lower case");
    if (from->head_number.given != (from->head_hash.p != NULL))
        return command_refuse(command, OUTCOME_PARAMETER_INVALID, "head_hash",
                              "and head_number go together");
    if (from->after.p != NULL && !uuid_parse(from->after, &verify->after))
        return command_refuse(command, OUTCOME_PARAMETER_INVALID, "after", "must be a UUID");
    verify->is_along_entries = str_equal(from->phase, STR("entries"));
    verify->chain.number = from->block.value;
    verify->chain.entries = from->chained.value;
    verify->chain.expired = from->expired.value;
    verify->chain.is_head_met = from->head_met.value;
    verify->after_us = from->after_us.value;
    verify->entries = from->entries.value;
    verify->sealed = from->sealed.value;
    command->state = verify;
    return ST_OK;
}

/* -- asking ----------------------------------------------------------------------------------- */

static struct str number(struct arena *arena, int64_t value)
{
    return str_of(arena_printf(arena, "%" PRId64, value));
}

/* Each statement sees what was committed when it began: a head that was published before must have
   its block, and an entry that is missing may have been dropped until after. */
static void ask_for_blocks(struct verify_step *verify, struct db *db, struct str organization,
                           struct arena *arena)
{
    const db_param params[] = {organization, number(arena, verify->chain.number),
                               number(arena, ENTRIES_A_STEP)};

    verify->before = db_add(db, SQL_READ_ENDS, params, 1);
    verify->first = db_add(db, SQL_LIST_BLOCKS, params, 3);
    verify->second = db_add(db, SQL_LIST_BLOCK_ENTRIES, params, 3);
    verify->third = db_add(db, SQL_READ_ENDS, params, 1);
}

/* How far everything is sealed is asked first: what lies below is in a block that can be seen. */
static void ask_for_entries(struct verify_step *verify, struct db *db, struct str organization,
                            struct arena *arena)
{
    char after[UUID_TEXT + 1];

    uuid_format(&verify->after, after);
    const db_param params[] = {
        organization,
        verify->from.after_us.given ? number(arena, verify->after_us) : STR_NONE,
        str_of(after),
        number(arena, ENTRIES_A_STEP),
    };

    verify->first = db_add(db, SQL_READ_PLACE, NULL, 0);
    verify->second = db_add(db, SQL_LIST_COVERED_ENTRIES, params, 4);
    verify->third = db_add(db, SQL_READ_HEAD, params, 1);
}

void audit_verify_ask(struct command *command, struct db *db, void *service)
{
    struct verify_step *verify = command->state;
    char organization[UUID_TEXT + 1];

    uuid_format(&command->caller.organization_id, organization);
    if (verify->is_along_entries)
        ask_for_entries(verify, db, str_of(organization), command->arena);
    else
        ask_for_blocks(verify, db, str_of(organization), command->arena);
}

/* -- looking ---------------------------------------------------------------------------------- */

static bool check_block(struct verify_step *verify, struct verify_block *block,
                        const struct audit_keys *keys, int64_t dropped_us, struct arena *arena)
{
    if (verify->from.head_number.given && block->sealed.number == verify->from.head_number.value)
        block->kept_hash = verify->kept_hash;
    return verify_block(&verify->chain, block, keys, dropped_us, arena, &verify->found);
}

static void look_along_chain(struct verify_step *verify, struct command *command, struct db *db,
                             const struct audit_keys *keys)
{
    const struct db_rows *blocks = db_result(db, verify->first);
    const int64_t published = db_value_int(db_result(db, verify->before), 0, 0);
    const int64_t dropped_us = db_value_int(db_result(db, verify->third), 0, 1);
    const int64_t kept = verify->from.head_number.value;
    size_t row = 0;

    for (size_t i = 0; i < db_rows_count(blocks); i++) {
        struct verify_block block;

        if (!verify_read_block(blocks, i, command->arena, &block)) {
            verify->found = (struct verify_finding){.kind = VERIFY_REWRITTEN,
                                                    .block = verify->chain.number + 1,
                                                    .detail = "the block is malformed"};
            return;
        }
        block.sealed.organization_id = command->caller.organization_id;
        block.entries = verify_read_entries(db_result(db, verify->second), &row,
                                            block.sealed.number, block.sealed.n, command->arena);
        if (!check_block(verify, &block, keys, dropped_us, command->arena))
            return;
    }
    if (db_rows_count(blocks) == 0)
        verify->is_along_entries =
            verify_end(&verify->chain, kept > published ? kept : published, &verify->found);
}

static void look_along_entries(struct verify_step *verify, struct command *command, struct db *db)
{
    const struct db_rows *rows = db_result(db, verify->second);
    const struct verify_seal seal = verify_read_seal(db_result(db, verify->first));
    size_t n = db_rows_count(rows);

    for (size_t i = 0; i < n; i++) {
        struct verify_covered covered = verify_read_covered(rows, i);
        struct block_entry *entry = &covered.entry;
        bool is_waiting;

        entry->place.organization_id = command->caller.organization_id;
        if (!verify_covered(&covered, &seal, &is_waiting, &verify->found))
            return;
        verify->entries++;
        verify->sealed += !is_waiting;
        verify->after = entry->place.request_id;
        verify->after_us = entry->created_us;
    }
    verify->is_done = n < ENTRIES_A_STEP;
    if (verify->is_done && verify->from.head_number.given)
        (void)verify_given_head(&verify->chain, verify->from.head_number.value, &verify->found);
}

/* -- telling ---------------------------------------------------------------------------------- */

enum status audit_verify_tell(struct command *command, struct db *db, void *service)
{
    const struct audit *self = service;
    struct verify_step *verify = command->state;
    const bool was_along_entries = verify->is_along_entries;

    if (was_along_entries)
        look_along_entries(verify, command, db);
    else
        look_along_chain(verify, command, db, &self->signing);
    verify->is_done |= verify->found.kind != VERIFY_FINE;

    verify_write(verify, was_along_entries ? db_result(db, verify->third) : NULL, &self->signing,
                 &command->reply);
    return ST_OK;
}
