#include "services/access/claimed.h"

#include "access_sql.h"
#include "common/base/clock.h"
#include "common/db/params.h"
#include "common/json/json.h"

enum {
    CLAIM_MS = 10 * 1000, /* longer than the reply and the two transactions may take */
    /* Well below the limit of nats-server; a single change has 80 KB at most. */
    BYTES_MAX = 256 * 1024,
    TIMEOUT_US = 2 * 1000 * 1000,
};

/* -- the message ------------------------------------------------------------------------------- */

static void add_member(struct buf *body, const char *name, struct str value)
{
    if (value.p != NULL)
        json_add_text(body, name, value);
}

static void add_change(struct buf *body, const struct db_rows *rows, size_t row)
{
    buf_char(body, '{');
    add_member(body, "organization_id", db_value(rows, row, CLAIM_OUTBOX_ORGANIZATION_ID));
    add_member(body, "id", db_value(rows, row, CLAIM_OUTBOX_ID));
    add_member(body, "who", db_value(rows, row, CLAIM_OUTBOX_WHO));
    add_member(body, "user_id", db_value(rows, row, CLAIM_OUTBOX_USER_ID));
    add_member(body, "change", db_value(rows, row, CLAIM_OUTBOX_CHANGE));
    add_member(body, "target", db_value(rows, row, CLAIM_OUTBOX_TARGET));
    json_add_key(body, "detail");
    buf_add(body, db_value(rows, row, CLAIM_OUTBOX_DETAIL));
    add_member(body, "address", db_value(rows, row, CLAIM_OUTBOX_ADDRESS));
    buf_char(body, '}');
}

static struct claimed collect(const struct db_rows *rows, struct arena *arena)
{
    struct claimed claimed = {.n = db_rows_count(rows)};
    struct buf organizations, ids, body;

    if (claimed.n == 0)
        return claimed;
    array_open(&organizations, arena, (UUID_TEXT + 1) * claimed.n);
    array_open(&ids, arena, (UUID_TEXT + 1) * claimed.n);
    buf_init(&body, arena, 512 * claimed.n);
    buf_add(&body, STR("{\"changes\":["));
    for (size_t i = 0; i < claimed.n; i++) {
        array_add_plain(&organizations, db_value(rows, i, CLAIM_OUTBOX_ORGANIZATION_ID));
        array_add_plain(&ids, db_value(rows, i, CLAIM_OUTBOX_ID));
        if (i > 0)
            buf_char(&body, ',');
        add_change(&body, rows, i);
    }
    buf_add(&body, STR("]}"));
    claimed.message = buf_str(&body);
    claimed.organizations = array_close(&organizations);
    claimed.ids = array_close(&ids);
    claimed.first = arena_str(arena, db_value(rows, 0, CLAIM_OUTBOX_ID));
    return claimed;
}

/* -- the database ------------------------------------------------------------------------------ */

enum status claimed_choose_cell(struct db *db, struct str except, char cell[CELL_CAPACITY],
                                bool *found)
{
    struct params params = {.n = 0};
    enum status st;

    params_add(&params, except);
    st = db_once(db, SQL_FIND_OUTBOX_CELL, &params, TIMEOUT_US);
    if (st == ST_OK)
        *found = db_rows_count(db_result(db, 0)) > 0 &&
                 cell_read(db_value(db_result(db, 0), 0, FIND_OUTBOX_CELL_CELL), cell);
    return st;
}

enum status claimed_take(struct db *db, const char *cell, size_t most, struct arena *arena,
                         struct claimed *out)
{
    struct params params = {.n = 0};
    enum status st;

    params_add_int(&params, arena, CLAIM_MS);
    params_add_int(&params, arena, (int64_t)most);
    params_add_int(&params, arena, BYTES_MAX);
    params_add(&params, str_of(cell));
    st = db_once(db, SQL_CLAIM_OUTBOX, &params, TIMEOUT_US);
    if (st == ST_OK)
        *out = collect(db_result(db, 0), arena);
    return st;
}

enum status claimed_clear(const struct claimed *claimed, struct db *db)
{
    struct params params = {.n = 0};

    params_add(&params, claimed->organizations);
    params_add(&params, claimed->ids);
    return db_once(db, SQL_CLEAR_OUTBOX, &params, TIMEOUT_US);
}

enum status claimed_postpone(const struct claimed *claimed, int64_t ms, struct str refusal,
                             struct db *db, struct arena *arena)
{
    struct params params = {.n = 0};

    params_add(&params, claimed->organizations);
    params_add(&params, claimed->ids);
    params_add_int(&params, arena, ms);
    params_add(&params, refusal);
    return db_once(db, SQL_POSTPONE_OUTBOX, &params, TIMEOUT_US);
}
