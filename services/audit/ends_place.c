#include "services/audit/ends_place.h"

#include <inttypes.h>

#include "audit_sql.h"
#include "common/db/params.h"
#include "services/audit/verify_block.h"

enum {
    AHEAD_MAX = 1000, /* foreign blocks that a look beyond the horizon passes by ... */
    SINCE_MAX = 16,   /* ... and one for a block made before a transaction */
    PLACES_A_LOOK = 500,
    /* Reading a whole block costs as much as reading WHOLE_COST heads, and one more for each
       WHOLE_BYTES_A_HEAD bytes, because these are kept until the step ends. */
    WHOLE_COST = 20,
    WHOLE_BYTES_A_HEAD = 1024
};

size_t ends_ask_place(struct db *db, const struct db_rows *below)
{
    if (below == NULL)
        return ends_ask_below(db, STR_NONE, STR_NONE, STR_NONE, STR_NONE);
    return ends_ask_below(db, db_value(below, 0, VERIFY_LAST_XID),
                          db_value(below, 0, READ_PLACE_ORGANIZATION_ID),
                          db_value(below, 0, VERIFY_NUMBER), STR_NONE);
}

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
    if (ends_check_head(rows, row, LIST_PLACES_HEAD, &organization_id, way->search->keys,
                        way->arena, &head) != ENDS_FOREIGN)
        return true;
    ends_note(way->foreign, &organization_id, head.number);
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
            return ends_read_whole(way->db, way->xid, way->organization,
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
        ends_note(way->foreign, &organization_id, number);
    else if (!way->is_at_end)
        ends_note_unknown(way->foreign, &organization_id, number);
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
    size_t top = ends_ask_below(db, STR("18446744073709551615"), STR_NONE, STR_NONE, STR_NONE);
    enum status st = db_run(db);

    if (st == ST_OK)
        st = ends_find_place(db, db_result(db, top), &search, arena, out, &found, &met);
    if (met.n > 0)
        ends_note(foreign, &met.organization_id, met.number);
    if (met.has_unknown)
        ends_note(foreign, &met.unknown_organization_id, met.unknown_number);
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
    size_t asked = ends_ask_below(db, STR_NONE, STR_NONE, STR_NONE, before);

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
        ends_note(foreign, &organization_id, db_value_int(rows, 0, VERIFY_NUMBER));
        asked = ends_ask_below(db, db_value(rows, 0, VERIFY_LAST_XID),
                               db_value(rows, 0, READ_PLACE_ORGANIZATION_ID),
                               db_value(rows, 0, VERIFY_NUMBER), before);
    }
    return ST_OK;
}
