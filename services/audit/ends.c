#include "services/audit/ends.h"

#include <inttypes.h>
#include <string.h>

#include "audit_sql.h"
#include "common/base/ascii.h"
#include "common/db/params.h"

enum {
    BACK_MAX = 1000,  /* foreign blocks that one step looks back over, in all chains */
    AHEAD_MAX = 1000, /* the same beyond the horizon ... */
    SINCE_MAX = 16,   /* ... and to find a block made before a transaction */
    PLACES_A_LOOK = 500,
    /* Reading a whole block costs as much as reading WHOLE_COST heads, and one more for each
       WHOLE_BYTES_A_HEAD bytes, because these are kept until the step ends. */
    WHOLE_COST = 20,
    WHOLE_BYTES_A_HEAD = 1024
};

static void note(struct ends_foreign *foreign, const struct uuid *organization_id, int64_t number)
{
    if (foreign->n++ == 0) {
        foreign->organization_id = *organization_id;
        foreign->number = number;
    }
}

static void note_unknown(struct ends_foreign *foreign, const struct uuid *organization_id,
                         int64_t number)
{
    if (foreign->has_unknown)
        return;
    foreign->has_unknown = true;
    foreign->unknown_organization_id = *organization_id;
    foreign->unknown_number = number;
}

/* -- one block -------------------------------------------------------------------------------- */

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

static size_t ask_below(struct db *db, struct str xid, struct str organization, struct str number,
                        struct str made_before)
{
    return db_add(db, SQL_READ_PLACE, PARAMS(xid, organization, number, made_before));
}

size_t ends_ask_place(struct db *db, const struct db_rows *below)
{
    if (below == NULL)
        return ask_below(db, STR_NONE, STR_NONE, STR_NONE, STR_NONE);
    return ask_below(db, db_value(below, 0, VERIFY_LAST_XID),
                     db_value(below, 0, READ_PLACE_ORGANIZATION_ID),
                     db_value(below, 0, VERIFY_NUMBER), STR_NONE);
}

/* Reads the whole block of a head: *whole is its row of read_place.sql. */
static enum status read_whole(struct db *db, struct str xid, struct str organization,
                              int64_t number, struct arena *arena, const struct db_rows **whole)
{
    size_t asked = ask_below(db, xid, organization, param_int(arena, number + 1), STR_NONE);
    enum status st = db_run(db);

    if (st == ST_OK)
        *whole = db_result(db, asked);
    return st;
}

/* Checks the signature of a head; ENDS_UNKNOWN: its key is unknown. */
static enum ends_kind check_signature(const struct db_rows *rows, size_t row, int first,
                                      const struct uuid *organization_id,
                                      const struct audit_keys *keys, struct arena *arena,
                                      struct block_head *out)
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

/* -- the place -------------------------------------------------------------------------------- */

/* A search downwards in the order of sealing. */
struct way {
    struct db *db;
    const struct ends_search *search;
    struct arena *arena;
    struct ends_foreign *foreign;
    struct str xid, organization, number; /* it has come below this block */
    const struct db_rows *places;         /* the next ones downwards; NULL = not listed yet */
    size_t n_passed;                      /* of these */
    size_t left;                          /* what it may still cost */
    bool is_at_end;                       /* at the known place, or below all blocks */
};

static void pay(struct way *way, size_t cost)
{
    way->left -= cost < way->left ? cost : way->left;
}

/* Whether a row of list_places.sql may be the block that is searched for. Moves below it. */
static bool is_candidate(struct way *way, const struct db_rows *rows, size_t row)
{
    struct uuid organization_id = {{0}};
    struct block_head head;

    way->xid = arena_str(way->arena, db_value(rows, row, LIST_PLACES_HEAD + HEAD_LAST_XID));
    way->organization = arena_str(way->arena, db_value(rows, row, LIST_PLACES_ORGANIZATION_ID));
    way->number = arena_str(way->arena, db_value(rows, row, LIST_PLACES_HEAD + HEAD_NUMBER));
    pay(way, 1);
    (void)uuid_parse(way->organization, &organization_id);
    if (check_signature(rows, row, LIST_PLACES_HEAD, &organization_id, way->search->keys,
                        way->arena, &head) != ENDS_FOREIGN)
        return true;
    note(way->foreign, &organization_id, head.number);
    return false;
}

static bool is_below_known(const struct way *way)
{
    uint64_t xid = 0;

    return str_to_u64(way->xid, UINT64_MAX, &xid) && xid < way->search->known.at.xid;
}

static enum status list_places(struct way *way)
{
    size_t asked = db_add(
        way->db, SQL_LIST_PLACES,
        PARAMS(way->xid, way->organization, way->number, param_int(way->arena, PLACES_A_LOOK)));
    enum status st = db_run(way->db);

    if (st != ST_OK)
        return st;
    way->places = db_result(way->db, asked);
    way->n_passed = 0;
    way->is_at_end = db_rows_count(way->places) == 0;
    return ST_OK;
}

/* Moves to the next block downwards that may be ours, past those with a wrong signature. *rows is
   the whole block; NULL at the end, or if the search has cost too much. */
static enum status go_down(struct way *way, const struct db_rows **rows)
{
    *rows = NULL;
    while (way->left > 0 && !way->is_at_end) {
        const size_t row = way->n_passed;
        bool may_be;

        if (way->places == NULL || row == db_rows_count(way->places)) {
            enum status st = list_places(way);

            if (st != ST_OK)
                return st;
            continue;
        }
        may_be = is_candidate(way, way->places, row);
        way->n_passed++;
        way->is_at_end = is_below_known(way);
        if (may_be && !way->is_at_end)
            return read_whole(way->db, way->xid, way->organization,
                              db_value_int(way->places, row, LIST_PLACES_HEAD + HEAD_NUMBER),
                              way->arena, rows);
    }
    return ST_OK;
}

/* Moves below a whole block that is not ours. */
static void pass_by(struct way *way, const struct db_rows *rows, enum ends_kind kind)
{
    struct uuid organization_id = {{0}};
    const int64_t number = db_value_int(rows, 0, VERIFY_NUMBER);
    const size_t bytes =
        db_value(rows, 0, VERIFY_REQUEST_IDS).n + db_value(rows, 0, VERIFY_ENTRY_HASHES).n;

    pay(way, WHOLE_COST + bytes / WHOLE_BYTES_A_HEAD);
    way->xid = arena_str(way->arena, db_value(rows, 0, VERIFY_LAST_XID));
    way->organization = arena_str(way->arena, db_value(rows, 0, READ_PLACE_ORGANIZATION_ID));
    way->number = arena_str(way->arena, db_value(rows, 0, VERIFY_NUMBER));
    (void)uuid_parse(way->organization, &organization_id);
    way->is_at_end |= is_below_known(way);
    if (kind == ENDS_FOREIGN)
        note(way->foreign, &organization_id, number);
    else if (!way->is_at_end)
        note_unknown(way->foreign, &organization_id, number);
}

enum status ends_find_place(struct db *db, const struct db_rows *rows,
                            const struct ends_search *search, struct arena *arena,
                            struct ends_place *out, enum ends_found *found,
                            struct ends_foreign *foreign)
{
    struct way way = {
        .db = db, .search = search, .arena = arena, .foreign = foreign, .left = search->max};

    *found = ENDS_FOUND;
    for (;;) {
        const enum ends_kind kind = ends_read_place(rows, search->keys, arena, out);
        enum status st;

        if (kind == ENDS_OURS)
            break;
        pass_by(&way, rows, kind);
        if (kind == ENDS_UNKNOWN && !search->passes_unknown && !way.is_at_end) {
            *found = ENDS_LACKS_KEY;
            return ST_OK;
        }
        st = go_down(&way, &rows);
        if (st != ST_OK)
            return st;
        if (rows != NULL)
            continue;
        *out = (struct ends_place){.made_us = 0};
        if (!way.is_at_end)
            *found = ENDS_TOO_FAR;
        break;
    }
    if (*found == ENDS_FOUND && block_compare_places(&out->at, &search->known.at) < 0)
        *out = search->known;
    return ST_OK;
}

/* Nothing beyond the horizon is settled, so a block there with an unknown key counts as foreign. */
enum status ends_look_ahead(struct db *db, const struct audit_keys *keys, uint64_t xid,
                            struct arena *arena, struct ends_place *out,
                            struct ends_foreign *foreign)
{
    const struct ends_search search = {
        .keys = keys, .known.at.xid = xid, .passes_unknown = true, .max = AHEAD_MAX};
    struct ends_foreign met = {.n = 0};
    enum ends_found found;
    size_t top = ask_below(db, STR("18446744073709551615"), STR_NONE, STR_NONE, STR_NONE);
    enum status st = db_run(db);

    if (st == ST_OK)
        st = ends_find_place(db, db_result(db, top), &search, arena, out, &found, &met);
    if (met.n > 0)
        note(foreign, &met.organization_id, met.number);
    if (met.has_unknown)
        note(foreign, &met.unknown_organization_id, met.unknown_number);
    foreign->n += met.n > 0 ? met.n - 1 : 0;
    if (st == ST_OK && (found != ENDS_FOUND || out->made_us == 0))
        *out = (struct ends_place){.made_us = 0};
    return st;
}

enum status ends_find_since(struct db *db, uint64_t made_before, const struct audit_keys *keys,
                            struct arena *arena, struct ends_place *known,
                            struct ends_foreign *foreign)
{
    const struct str before = str_of(arena_printf(arena, "%" PRIu64, made_before));
    size_t asked = ask_below(db, STR_NONE, STR_NONE, STR_NONE, before);

    for (int i = 0; i < SINCE_MAX; i++) {
        struct uuid organization_id = {{0}};
        const struct db_rows *rows;
        struct ends_place place;
        enum status st = db_run(db);

        if (st != ST_OK)
            return st;
        rows = db_result(db, asked);
        if (ends_read_place(rows, keys, arena, &place) == ENDS_OURS) {
            if (block_compare_places(&place.at, &known->at) > 0)
                *known = place;
            break;
        }
        (void)uuid_parse(db_value(rows, 0, READ_PLACE_ORGANIZATION_ID), &organization_id);
        note(foreign, &organization_id, db_value_int(rows, 0, VERIFY_NUMBER));
        asked = ask_below(db, db_value(rows, 0, VERIFY_LAST_XID),
                          db_value(rows, 0, READ_PLACE_ORGANIZATION_ID),
                          db_value(rows, 0, VERIFY_NUMBER), before);
    }
    return ST_OK;
}

/* -- heads of chains -------------------------------------------------------------------------- */

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
    *kind = check_signature(rows, row, first, &organization_id, look->keys, look->arena, out);
    if (*kind != ENDS_UNKNOWN)
        return ST_OK;
    uuid_format(&organization_id, organization);
    st = read_whole(look->db, db_value(rows, row, first + HEAD_LAST_XID), str_of(organization),
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
        note(look->foreign, &out->organization_id, out->number);
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

    note(look->foreign, &head->organization_id, taken);
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
        note_unknown(foreign, organization_id, head.number);
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
            note_unknown(foreign, &head->organization_id, head->number);
    }
    return ST_OK;
}
