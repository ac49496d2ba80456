#include "services/audit/publish.h"

#include "audit_sql.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/db/array.h"
#include "common/wire/json.h"
#include "proto/headers.h"
#include "proto/subject.h"

enum { HEADS_MOST = 500, PATIENCE_US = 10 * 1000 * 1000 };

enum column {
    ORGANIZATION_ID,
    NUMBER,
    ENTRIES,
    LAST_XID,
    BLOCK_HASH,
    MADE_US,
    KEY_ID,
    SIGNATURE,
};

static struct str message_of(const struct db_rows *rows, size_t row, struct arena *arena)
{
    struct buf out;

    buf_init(&out, arena, 512);
    buf_char(&out, '{');
    json_add_text(&out, "organization_id", db_value(rows, row, ORGANIZATION_ID));
    json_add_key(&out, "number");
    buf_add(&out, db_value(rows, row, NUMBER));
    json_add_key(&out, "entries");
    buf_add(&out, db_value(rows, row, ENTRIES));
    json_add_text(&out, "block_hash", db_value(rows, row, BLOCK_HASH));
    json_add_integer(&out, "made_at", db_value_int(rows, row, MADE_US) / 1000000);
    json_add_text(&out, "key_id", db_value(rows, row, KEY_ID));
    json_add_text(&out, "signature", db_value(rows, row, SIGNATURE));
    buf_char(&out, '}');
    return buf_str(&out);
}

static enum status publish(struct bus *bus, const struct db_rows *rows, size_t row,
                           struct arena *arena)
{
    const struct bus_header header = {HEADER_ORGANIZATION,
                                      arena_cstr(arena, db_value(rows, row, ORGANIZATION_ID))};
    enum status st =
        bus_publish(bus, SUBJECT_NOTICE_AUDIT_HEAD, NULL, &header, 1, message_of(rows, row, arena));

    if (st == ST_OK)
        LOG(LOG_INFO, "head of an audit chain",
            log_slice("organization_id", db_value(rows, row, ORGANIZATION_ID)),
            log_int("number", db_value_int(rows, row, NUMBER)),
            log_int("entries", db_value_int(rows, row, ENTRIES)),
            log_slice("block_hash", db_value(rows, row, BLOCK_HASH)),
            log_slice("key_id", db_value(rows, row, KEY_ID)),
            log_slice("signature", db_value(rows, row, SIGNATURE)));
    return st;
}

static void note(struct db *db, const struct db_rows *rows, size_t n, struct arena *arena)
{
    static const enum column noted[] = {ORGANIZATION_ID, NUMBER, LAST_XID, BLOCK_HASH};
    enum { N = sizeof(noted) / sizeof(noted[0]) };
    struct buf columns[N];
    db_param params[N];

    for (int i = 0; i < N; i++) {
        array_open(&columns[i], arena, 256);
        for (size_t row = 0; row < n; row++)
            array_add_plain(&columns[i], db_value(rows, row, (int)noted[i]));
        params[i] = array_close(&columns[i]);
    }
    db_add(db, SQL_ADD_HEADS, params, N);
}

enum status publish_heads(struct db *db, struct bus *bus, struct arena *arena, size_t *n)
{
    const db_param most[] = {str_of(arena_printf(arena, "%d", HEADS_MOST))};
    const struct db_rows *rows;
    size_t lock, list, found;
    enum status st;

    *n = 0;
    db_open_batch(db, clock_us() + PATIENCE_US);
    lock = db_add(db, SQL_LOCK_SEALING, NULL, 0);
    list = db_add(db, SQL_LIST_HEADS_TO_PUBLISH, most, 1);
    st = db_run(db);
    if (st != ST_OK)
        return st;
    rows = db_result(db, list);
    found = db_value_bool(db_result(db, lock), 0, 0) ? db_rows_count(rows) : 0;
    while (*n < found && publish(bus, rows, *n, arena) == ST_OK)
        (*n)++;
    if (*n > 0)
        note(db, rows, *n, arena);
    return db_commit(db);
}
