#include "services/audit/ends_heads.h"

#include <string.h>

#include "audit_sql.h"
#include "common/base/ascii.h"
#include "common/db/params.h"

enum { BACK_MAX = 1000 }; /* foreign blocks that one step looks back over, in all chains */

static struct block_head *known_of(struct ends_known *known, const struct uuid *organization_id)
{
    size_t at;

    memcpy(&at, organization_id->b + sizeof(organization_id->b) - sizeof(at), sizeof(at));
    return &known->at[at % ENDS_KNOWN];
}

void ends_know(struct ends_known *known, const struct block_head *head)
{
    *known_of(known, &head->organization_id) = *head;
}

static bool is_known(struct ends_known *known, const struct block_head *head)
{
    const struct block_head *at = known_of(known, &head->organization_id);

    return uuid_equal(&at->organization_id, &head->organization_id) && at->number == head->number &&
           at->entries == head->entries && memcmp(at->hash, head->hash, SHA256_BYTES) == 0;
}

/* The searches for all heads of a step share this. */
struct look {
    struct db *db;
    const struct audit_keys *keys;
    struct ends_known *known; /* NULL = none are */
    struct arena *arena;
    struct ends_foreign *foreign;
    size_t left; /* blocks to look back over */
};

/* Reads and checks a head; out->number is set in any case. */
static enum status read_head(struct look *look, const struct db_rows *rows, size_t row, int first,
                             struct block_head *out, enum ends_kind *kind)
{
    const struct uuid organization_id = out->organization_id;
    const struct db_rows *whole;
    char organization[UUID_TEXT + 1];
    struct ends_place place;
    enum status st;

    *kind = ENDS_FOREIGN;
    out->number = db_value_int(rows, row, first + HEAD_NUMBER);
    out->entries = db_value_int(rows, row, first + HEAD_ENTRIES);
    if (hex_read(db_value(rows, row, first + HEAD_BLOCK_HASH), out->hash, sizeof(out->hash)) &&
        look->known != NULL && is_known(look->known, out)) {
        *kind = ENDS_OURS;
        return ST_OK;
    }
    *kind = ends_check_head(rows, row, first, &organization_id, look->keys, look->arena, out);
    if (*kind != ENDS_UNKNOWN)
        return ST_OK;
    uuid_format(&organization_id, organization);
    st = ends_read_whole(look->db, db_value(rows, row, first + HEAD_LAST_XID), str_of(organization),
                         out->number, look->arena, &whole);
    if (st == ST_OK)
        *kind = ends_read_place(whole, look->keys, look->arena, &place);
    return st;
}

/* Finds the last block of a chain, up to a number, that is not foreign. *rows is its row; NULL:
   none is near. */
static enum status walk_back(struct look *look, int64_t number, struct block_head *out,
                             enum ends_kind *kind, const struct db_rows **rows)
{
    char organization[UUID_TEXT + 1];

    uuid_format(&out->organization_id, organization);
    *kind = ENDS_FOREIGN;
    *rows = NULL;
    for (; look->left > 0 && number > 0; look->left--) {
        const struct params *const params =
            PARAMS(str_of(organization), param_int(look->arena, number));
        size_t asked = db_add(look->db, SQL_READ_HEAD, params);
        enum status st = db_run(look->db);

        if (st != ST_OK)
            return st;
        *rows = db_result(look->db, asked);
        if (db_rows_count(*rows) == 0)
            break;
        st = read_head(look, *rows, 0, READ_HEAD_HEAD, out, kind);
        if (st != ST_OK || *kind != ENDS_FOREIGN)
            return st;
        ends_note(look->foreign, &out->organization_id, out->number);
        number = out->number - 1;
    }
    *rows = NULL;
    return ST_OK;
}

/* Replaces a foreign head with what the next block of its chain follows. */
static enum status go_back(struct look *look, struct block_head *head, enum ends_kind *kind)
{
    const int64_t taken = head->number;
    struct block_head found = *head;
    const struct db_rows *rows;
    enum status st;

    ends_note(look->foreign, &head->organization_id, taken);
    st = walk_back(look, taken - (taken > INT64_MIN), &found, kind, &rows);
    if (st != ST_OK)
        return st;
    if (*kind != ENDS_OURS)
        found = (struct block_head){.organization_id = head->organization_id};
    found.number = taken;
    *head = found;
    return ST_OK;
}

enum status ends_find_own(struct db *db, const struct uuid *organization_id,
                          const struct audit_keys *keys, size_t *left, struct arena *arena,
                          const struct db_rows **rows, enum ends_kind *kind,
                          struct ends_foreign *foreign)
{
    struct look look = {.db = db, .keys = keys, .arena = arena, .foreign = foreign, .left = *left};
    struct block_head head = {.organization_id = *organization_id};
    enum status st = walk_back(&look, INT64_MAX, &head, kind, rows);

    *left = look.left;
    if (st == ST_OK && *kind == ENDS_UNKNOWN)
        ends_note_unknown(foreign, organization_id, head.number);
    return st;
}

enum status ends_find_heads(struct db *db, const struct db_rows *rows,
                            const struct audit_keys *keys, struct ends_known *known,
                            struct arena *arena, struct block_head **out, size_t *n,
                            struct ends_foreign *foreign)
{
    struct look look = {.db = db,
                        .keys = keys,
                        .known = known,
                        .arena = arena,
                        .foreign = foreign,
                        .left = BACK_MAX};

    *n = 0;
    *out = ARENA_ARRAY(arena, struct block_head, db_rows_count(rows));
    for (size_t i = 0; i < db_rows_count(rows); i++) {
        struct block_head *head = &(*out)[*n];
        enum ends_kind kind;
        enum status st;

        if (!uuid_parse(db_value(rows, i, READ_HEADS_ORGANIZATION_ID), &head->organization_id))
            continue;
        ++*n;
        st = read_head(&look, rows, i, READ_HEADS_HEAD, head, &kind);
        if (st == ST_OK && kind == ENDS_FOREIGN)
            st = go_back(&look, head, &kind);
        if (st != ST_OK)
            return st;
        if (kind == ENDS_UNKNOWN)
            ends_note_unknown(foreign, &head->organization_id, head->number);
    }
    return ST_OK;
}
