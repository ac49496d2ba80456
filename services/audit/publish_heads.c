#include "services/audit/publish_heads.h"

#include "audit_sql.h"
#include "common/base/ascii.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/db/params.h"
#include "common/json/json.h"
#include "proto/headers.h"
#include "proto/subject.h"
#include "services/audit/chain.h"
#include "services/audit/ends_heads.h"
#include <inttypes.h>

enum { HEADS_MAX = 500, BACK_MAX = 1000, TIMEOUT_US = 10 * 1000 * 1000 };

struct published_head {
    struct str organization, of[HEAD_COLUMNS];
};

static struct published_head read_head(struct str organization, const struct db_rows *rows,
                                       size_t row, int first)
{
    struct published_head head = {.organization = organization};

    for (int i = 0; i < HEAD_COLUMNS; i++)
        head.of[i] = db_value(rows, row, first + i);
    return head;
}

static int64_t integer(struct str text)
{
    uint64_t value = 0;

    (void)str_to_u64(text, INT64_MAX, &value);
    return (int64_t)value;
}

static struct str message_of(const struct published_head *head, struct arena *arena)
{
    int64_t made_us = 0;
    struct buf out;

    (void)chain_read_us(head->of[HEAD_MADE_US], &made_us);
    buf_init(&out, arena, 512);
    buf_char(&out, '{');
    json_add_text(&out, "organization_id", head->organization);
    json_add_key(&out, "number");
    buf_add(&out, head->of[HEAD_NUMBER]);
    json_add_key(&out, "entries");
    buf_add(&out, head->of[HEAD_ENTRIES]);
    json_add_text(&out, "block_hash", head->of[HEAD_BLOCK_HASH]);
    json_add_integer(&out, "made_at", made_us / 1000000);
    json_add_text(&out, "key_id", head->of[HEAD_KEY_ID]);
    json_add_text(&out, "signature", head->of[HEAD_SIGNATURE]);
    buf_char(&out, '}');
    return buf_str(&out);
}

static enum status publish_head(const char *cell, struct bus *bus,
                                const struct published_head *head, struct arena *arena)
{
    char subject[CELL_SUBJECT_CAPACITY];
    const struct bus_header header = {HEADER_ORGANIZATION, arena_cstr(arena, head->organization)};
    enum status st = bus_publish(bus, subject_in_cell(SUBJECT_NOTICE_AUDIT_HEAD, cell, subject),
                                 NULL, &header, 1, message_of(head, arena));

    if (st == ST_OK)
        LOG(LOG_INFO, "head of an audit chain", log_slice("organization_id", head->organization),
            log_int("number", integer(head->of[HEAD_NUMBER])),
            log_int("entries", integer(head->of[HEAD_ENTRIES])),
            log_slice("block_hash", head->of[HEAD_BLOCK_HASH]),
            log_slice("key_id", head->of[HEAD_KEY_ID]),
            log_slice("signature", head->of[HEAD_SIGNATURE]));
    return st;
}

/* Records which heads were published. */
static void note(struct db *db, const struct published_head *heads, size_t n, struct arena *arena)
{
    static const enum head_column noted[] = {HEAD_NUMBER, HEAD_LAST_XID, HEAD_BLOCK_HASH};
    enum { N = 1 + ARRAY_SIZE(noted) };
    struct params params = {.n = 0};
    struct buf column;

    for (int i = 0; i < N; i++) {
        array_open(&column, arena, 256);
        for (size_t k = 0; k < n; k++)
            array_add_plain(&column, i == 0 ? heads[k].organization : heads[k].of[noted[i - 1]]);
        params_add(&params, array_close(&column));
    }
    db_add(db, SQL_ADD_HEADS, &params);
}

static bool is_ours(const struct head_publisher *publisher, const struct published_head *head,
                    const struct uuid *organization_id, struct arena *arena)
{
    const struct signing_public *by = audit_keys_find(publisher->keys, head->of[HEAD_KEY_ID]);
    uint8_t hash[SHA256_BYTES], signature[SIGNING_SIGNATURE_BYTES];

    return by != NULL && hex_read(head->of[HEAD_BLOCK_HASH], hash, sizeof(hash)) &&
           hex_read(head->of[HEAD_SIGNATURE], signature, sizeof(signature)) &&
           signing_is_by(by,
                         chain_head_text(organization_id, integer(head->of[HEAD_NUMBER]),
                                         integer(head->of[HEAD_ENTRIES]), hash, arena),
                         signature);
}

enum finding { IS_HEAD, IS_NONE, IS_LIMIT };

/* Finds the head of a row's chain: its last block, or else the last block of ours, unless that has
   been published. At an unknown key the round ends: recording a head after it would hide it from
   the replica that has the key. */
static enum status find_head(struct head_publisher *publisher, struct db *db,
                             const struct db_rows *rows, size_t row, struct arena *arena,
                             struct published_head *out, enum finding *finding)
{
    const struct str organization = db_value(rows, row, LIST_HEADS_TO_PUBLISH_ORGANIZATION_ID);
    struct uuid organization_id;
    const struct db_rows *own;
    enum ends_kind kind;
    enum status st;

    *finding = IS_NONE;
    *out = read_head(organization, rows, row, LIST_HEADS_TO_PUBLISH_HEAD);
    if (!uuid_parse(organization, &organization_id))
        return ST_OK;
    if (is_ours(publisher, out, &organization_id, arena)) {
        *finding = IS_HEAD;
        return ST_OK;
    }
    st = ends_find_own(db, &organization_id, publisher->keys, &publisher->left, arena, &own, &kind,
                       &publisher->foreign);
    if (st != ST_OK)
        return st;
    if (kind == ENDS_UNKNOWN)
        *finding = IS_LIMIT;
    if (kind != ENDS_OURS)
        return ST_OK;
    *out = read_head(organization, own, 0, READ_HEAD_HEAD);
    if (integer(out->of[HEAD_NUMBER]) > db_value_int(rows, row, LIST_HEADS_TO_PUBLISH_PUBLISHED))
        *finding = IS_HEAD;
    return ST_OK;
}

static size_t list(const struct head_publisher *publisher, struct db *db, struct arena *arena)
{
    char organization[UUID_TEXT + 1];

    uuid_format(&publisher->behind.organization_id, organization);
    return db_add(db, SQL_LIST_HEADS_TO_PUBLISH,
                  PARAMS(param_int(arena, HEADS_MAX),
                         str_of(arena_printf(arena, "%" PRIu64, publisher->behind.xid)),
                         str_of(organization)));
}

/* Publishes the heads of the rows, until the bus accepts no more. */
static enum status publish_rows(struct head_publisher *publisher, struct db *db, struct bus *bus,
                                const struct db_rows *rows, size_t found,
                                struct published_head *heads, struct arena *arena)
{
    struct block_place behind = {.xid = 0};
    size_t row;

    for (row = 0; row < found; row++) {
        struct published_head *head = &heads[publisher->n];
        enum finding finding;
        enum status st = find_head(publisher, db, rows, row, arena, head, &finding);

        if (st != ST_OK)
            return st;
        if (finding == IS_LIMIT ||
            (finding == IS_HEAD && publish_head(publisher->cell, bus, head, arena) != ST_OK))
            break;
        publisher->n += finding == IS_HEAD;
        (void)str_to_u64(db_value(rows, row, LIST_HEADS_TO_PUBLISH_HEAD + HEAD_LAST_XID),
                         UINT64_MAX, &behind.xid);
        (void)uuid_parse(db_value(rows, row, LIST_HEADS_TO_PUBLISH_ORGANIZATION_ID),
                         &behind.organization_id);
    }
    publisher->is_behind = found == HEADS_MAX && row == found;
    publisher->behind = publisher->is_behind ? behind : (struct block_place){.xid = 0};
    return ST_OK;
}

enum status publish_heads(struct head_publisher *publisher, struct db *db, struct bus *bus,
                          struct arena *arena)
{
    const struct db_rows *rows;
    size_t lock, asked, found;
    struct published_head *heads;
    enum status st;

    publisher->n = 0;
    publisher->foreign = (struct ends_foreign){.n = 0};
    publisher->left = BACK_MAX;
    publisher->is_behind = false;
    db_open_batch(db, clock_us() + TIMEOUT_US);
    lock = db_add(db, SQL_LOCK_SEALING, NULL);
    asked = list(publisher, db, arena);
    st = db_run(db);
    if (st != ST_OK)
        return st;
    rows = db_result(db, asked);
    found = db_value_bool(db_result(db, lock), 0, LOCK_SEALING_IS_FIRST) ? db_rows_count(rows) : 0;
    heads = ARENA_ARRAY(arena, struct published_head, found + 1);
    st = publish_rows(publisher, db, bus, rows, found, heads, arena);
    if (st != ST_OK)
        return st;
    if (publisher->n > 0)
        note(db, heads, publisher->n, arena);
    return db_commit(db);
}
