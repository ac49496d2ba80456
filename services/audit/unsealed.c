#include "services/audit/unsealed.h"

#include <inttypes.h>

#include "audit_sql.h"
#include "common/db/params.h"

/* The greatest time that a block can have in a mark; an entry beyond it cannot be sealed. */
#define NOTED_US_MAX (INT64_C(400000) * 1000 * 1000 * 1000 * 1000)

size_t unsealed_ask(struct db *db, const struct block_place *place, struct str horizon, size_t max,
                    struct arena *arena)
{
    char organization[UUID_TEXT + 1], request[UUID_TEXT + 1];

    uuid_format(&place->organization_id, organization);
    uuid_format(&place->request_id, request);
    return db_add_binary(db, SQL_LIST_UNSEALED,
                         PARAMS(str_of(arena_printf(arena, "%" PRIu64, place->xid)),
                                str_of(organization), str_of(request), horizon,
                                param_int(arena, (int64_t)max)));
}

/* STR_NONE, which is SQL NULL: the entry has none. */
static struct str id_text(const struct db_rows *rows, size_t row, int column,
                          char text[UUID_TEXT + 1])
{
    struct uuid id;

    if (!db_value_id(rows, row, column, &id))
        return STR_NONE;
    uuid_format(&id, text);
    return (struct str){text, UUID_TEXT};
}

/* Hashes the texts that the database would write. */
static void hash_entry(const struct db_rows *rows, size_t row, struct arena *arena,
                       struct block_entry *entry)
{
    char organization[UUID_TEXT + 1], request[UUID_TEXT + 1], key[UUID_TEXT + 1];
    char conversation[UUID_TEXT + 1], contact[UUID_TEXT + 1];
    char created[INT_TEXT], status[INT_TEXT], xid[INT_TEXT];
    const int64_t http_status = db_value_int(rows, row, LIST_UNSEALED_HTTP_STATUS);
    const struct str fields[CHAIN_COLUMNS] = {
        [CHAIN_ORGANIZATION_ID] = id_text(rows, row, LIST_UNSEALED_ORGANIZATION_ID, organization),
        [CHAIN_REQUEST_ID] = id_text(rows, row, LIST_UNSEALED_REQUEST_ID, request),
        [CHAIN_CREATED_US] = int_text(entry->created_us, created),
        [CHAIN_API_KEY_ID] = id_text(rows, row, LIST_UNSEALED_API_KEY_ID, key),
        [CHAIN_OPERATION] = db_value(rows, row, LIST_UNSEALED_OPERATION),
        [CHAIN_HTTP_STATUS] = int_text(http_status, status),
        [CHAIN_OUTCOME] = db_value(rows, row, LIST_UNSEALED_OUTCOME),
        [CHAIN_DENIAL_REASON] = db_value(rows, row, LIST_UNSEALED_DENIAL_REASON),
        [CHAIN_CONVERSATION_ID] = id_text(rows, row, LIST_UNSEALED_CONVERSATION_ID, conversation),
        [CHAIN_CONTACT_ID] = id_text(rows, row, LIST_UNSEALED_CONTACT_ID, contact),
        [CHAIN_XID] = int_text((int64_t)entry->place.xid, xid),
    };

    chain_hash_entry(fields, arena, entry->hash);
}

bool unsealed_read(const struct db_rows *rows, size_t row, struct arena *arena,
                   struct block_entry *out)
{
    const int64_t created_us = db_value_int(rows, row, LIST_UNSEALED_CREATED_AT);
    const int64_t xid = db_value_int(rows, row, LIST_UNSEALED_XID);

    *out = (struct block_entry){.place.xid = (uint64_t)xid};
    if (!db_value_id(rows, row, LIST_UNSEALED_ORGANIZATION_ID, &out->place.organization_id) ||
        !db_value_id(rows, row, LIST_UNSEALED_REQUEST_ID, &out->place.request_id) || xid < 0 ||
        created_us < -NOTED_US_MAX - DB_EPOCH_US || created_us > NOTED_US_MAX - DB_EPOCH_US)
        return false;
    out->created_us = created_us + DB_EPOCH_US;
    hash_entry(rows, row, arena, out);
    return true;
}
