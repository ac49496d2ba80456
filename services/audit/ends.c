#include "services/audit/ends.h"

#include "audit_sql.h"
#include "common/base/ascii.h"
#include "common/db/params.h"
#include "services/audit/verify_block.h"

void ends_note(struct ends_foreign *foreign, const struct uuid *organization_id, int64_t number)
{
    if (foreign->n++ == 0) {
        foreign->organization_id = *organization_id;
        foreign->number = number;
    }
}

void ends_note_unknown(struct ends_foreign *foreign, const struct uuid *organization_id,
                       int64_t number)
{
    if (foreign->has_unknown)
        return;
    foreign->has_unknown = true;
    foreign->unknown_organization_id = *organization_id;
    foreign->unknown_number = number;
}

static bool has_block(const struct db_rows *rows)
{
    return db_rows_count(rows) > 0 && db_value(rows, 0, READ_PLACE_ORGANIZATION_ID).p != NULL;
}

enum ends_kind ends_read_place(const struct db_rows *rows, const struct audit_keys *keys,
                               struct arena *arena, struct ends_place *out)
{
    struct verify_block block;

    *out = (struct ends_place){.made_us = 0};
    if (!has_block(rows))
        return ENDS_OURS;
    if (!verify_read_block(rows, 0, arena, &block) ||
        !uuid_parse(db_value(rows, 0, READ_PLACE_ORGANIZATION_ID), &block.sealed.organization_id) ||
        !verify_is_whole(&block, arena))
        return ENDS_FOREIGN;
    if (audit_keys_find(keys, block.sealed.key_id) == NULL)
        return ENDS_UNKNOWN;
    if (verify_doubt(&block, keys, arena) != NULL)
        return ENDS_FOREIGN;
    out->at = (struct block_place){.xid = block.sealed.last_xid,
                                   .organization_id = block.sealed.organization_id,
                                   .request_id = block.last_request_id};
    out->made_xid = block.sealed.made_xid;
    out->made_us = block.sealed.made_us;
    out->is_here = db_value_bool(rows, 0, READ_PLACE_IS_HERE);
    return ENDS_OURS;
}

size_t ends_ask_below(struct db *db, struct str xid, struct str organization, struct str number,
                      struct str made_before)
{
    return db_add(db, SQL_READ_PLACE, PARAMS(xid, organization, number, made_before));
}

enum status ends_read_whole(struct db *db, struct str xid, struct str organization, int64_t number,
                            struct arena *arena, const struct db_rows **whole)
{
    size_t asked = ends_ask_below(db, xid, organization, param_int(arena, number + 1), STR_NONE);
    enum status st = db_run(db);

    if (st == ST_OK)
        *whole = db_result(db, asked);
    return st;
}

enum ends_kind ends_check_head(const struct db_rows *rows, size_t row, int first,
                               const struct uuid *organization_id, const struct audit_keys *keys,
                               struct arena *arena, struct block_head *out)
{
    const struct signing_public *by =
        audit_keys_find(keys, db_value(rows, row, first + HEAD_KEY_ID));
    uint8_t signature[SIGNING_SIGNATURE_BYTES];

    out->organization_id = *organization_id;
    out->number = db_value_int(rows, row, first + HEAD_NUMBER);
    out->entries = db_value_int(rows, row, first + HEAD_ENTRIES);
    if (!hex_read(db_value(rows, row, first + HEAD_BLOCK_HASH), out->hash, sizeof(out->hash)) ||
        !hex_read(db_value(rows, row, first + HEAD_SIGNATURE), signature, sizeof(signature)) ||
        out->entries < 0 || out->entries > BLOCK_NUMBER_MAX || out->number < 1 ||
        out->number > BLOCK_NUMBER_MAX)
        return ENDS_FOREIGN;
    if (by == NULL)
        return ENDS_UNKNOWN;
    return signing_is_by(
               by, chain_head_text(organization_id, out->number, out->entries, out->hash, arena),
               signature)
               ? ENDS_OURS
               : ENDS_FOREIGN;
}
