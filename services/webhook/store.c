#include "services/webhook/store.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/db/db.h"
#include "common/wire/json.h"
#include "webhook_sql.h"

enum {
    CONNECT_MS = 50,
    ARENA_MOST = 64 * 1024 * 1024,
    /* A turn's share of fan-out: rows written, and events of one organization that are weighed. */
    FANNED_AIM = 2000,
    EVENTS_MOST = 64,
};

struct store {
    struct db *db;
    struct arena arena;         /* of one turn */
    char worker[UUID_TEXT + 1]; /* whose claims are ours */
    int lease_ms, patience_ms;  /* a lease outlives a turn */
};

struct store *store_new(const struct store_options *options)
{
    struct store *store = calloc(1, sizeof(*store));
    const struct uuid worker = uuid_v7(clock_us());

    must(store != NULL);
    store->lease_ms = options->lease_ms;
    store->patience_ms = options->lease_ms * 3 / 5;
    uuid_format(&worker, store->worker);
    arena_init(&store->arena, ARENA_MOST);
    store->db = db_new(&(struct db_options){
        .url = options->database_url,
        .name = options->name,
        .statements = webhook_sql,
        .n_statements = WEBHOOK_SQL_COUNT,
    });
    if (store->db == NULL) {
        LOG(LOG_ERROR, "DATABASE_URL cannot be parsed");
        store_free(store);
        return NULL;
    }
    return store;
}

void store_free(struct store *store)
{
    if (store == NULL)
        return;
    db_free(store->db);
    arena_release(&store->arena);
    free(store);
}

bool store_is_up(struct store *store)
{
    db_check(store->db);
    return db_connect(store->db, CONNECT_MS) == ST_OK;
}

/* -- what ended ------------------------------------------------------------------------------- */

static void add_text(struct buf *out, const char *name, struct str text)
{
    json_add_key(out, name);
    json_add_string(out, text);
}

/* A negative number is none. */
static void add_number(struct buf *out, const char *name, int64_t number)
{
    json_add_key(out, name);
    if (number < 0)
        buf_add(out, STR("null"));
    else
        buf_int(out, number);
}

static void write_ended(struct arena *arena, struct buf *out, const struct attempt *attempt)
{
    const bool succeeded = attempt->failure == FAILURE_NONE;
    const struct str excerpt = {attempt->excerpt, attempt->excerpt_n};
    char address[ADDRESS_TEXT] = "";

    if (attempt->has_address)
        address_format(&attempt->address, address);
    buf_char(out, '{');
    add_text(out, "organization_id", attempt->organization_id);
    add_text(out, "endpoint_id", attempt->endpoint_id);
    add_text(out, "id", attempt->id);
    add_text(out, "fence", attempt->fence);
    add_text(out, "state", succeeded ? STR("succeeded") : STR("failed"));
    add_text(out, "error", succeeded ? STR_NONE : str_of(failure_name(attempt->failure)));
    add_number(out, "http_status", attempt->http_status > 0 ? attempt->http_status : -1);
    add_number(out, "started_ms", attempt->started_ms);
    add_number(out, "finished_ms", attempt->finished_ms);
    add_number(out, "dns_us", attempt->dns_us);
    add_number(out, "connect_us", attempt->connect_us);
    add_number(out, "tls_us", attempt->tls_us);
    add_number(out, "wait_us", attempt->wait_us);
    add_number(out, "total_us", attempt->total_us);
    add_text(out, "address", attempt->has_address ? str_of(address) : STR_NONE);
    add_text(out, "excerpt", attempt->http_status > 0 ? attempt_inert(arena, excerpt) : STR_NONE);
    buf_char(out, '}');
}

static size_t add_settle(struct store *store, const struct store_ask *ask)
{
    struct str param;
    struct buf out;

    buf_init(&out, &store->arena, 512 * ask->n_ended);
    buf_char(&out, '[');
    for (size_t i = 0; i < ask->n_ended; i++) {
        if (i > 0)
            buf_char(&out, ',');
        write_ended(&store->arena, &out, ask->ended[i]);
    }
    buf_char(&out, ']');
    param = buf_str(&out);
    return db_add(store->db, SQL_SETTLE, &param, 1);
}

/* -- what is claimed -------------------------------------------------------------------------- */

enum claim_column {
    COLUMN_ORGANIZATION,
    COLUMN_ENDPOINT,
    COLUMN_ID,
    COLUMN_FENCE,
    COLUMN_EVENT,
    COLUMN_TYPE,
    COLUMN_CREATED_AT,
    COLUMN_DATA,
    COLUMN_URL,
    COLUMN_SIGNS,
    COLUMN_SECRET,
    COLUMN_WAITED,
};

static struct str number(struct store *store, int value)
{
    return str_of(arena_printf(&store->arena, "%d", value));
}

static size_t add_claim(struct store *store, const struct store_ask *ask)
{
    const db_param params[] = {
        number(store, ask->slots),       number(store, ask->slots_proven),
        number(store, ask->slots_other), number(store, store->lease_ms),
        str_of(store->worker),
    };

    return db_add(store->db, SQL_CLAIM, params, sizeof(params) / sizeof(params[0]));
}

/* Those that are under way, and no others. */
static size_t keep_claims(struct store *store, struct str under_way)
{
    const db_param kept[] = {under_way, number(store, store->lease_ms)};
    const db_param others[] = {str_of(store->worker), under_way};

    db_add(store->db, SQL_RENEW, kept, 2);
    return db_add(store->db, SQL_HAND_BACK, others, 2);
}

static void read_claims(struct store *store, const struct db_rows *rows, struct store_told *out)
{
    const size_t n = db_rows_count(rows);
    struct claim *claims = ARENA_ARRAY(&store->arena, struct claim, n + 1);

    for (size_t i = 0; i < n; i++) {
        claims[i] = (struct claim){
            .organization_id = db_value(rows, i, COLUMN_ORGANIZATION),
            .endpoint_id = db_value(rows, i, COLUMN_ENDPOINT),
            .id = db_value(rows, i, COLUMN_ID),
            .fence = db_value(rows, i, COLUMN_FENCE),
            .event_id = db_value(rows, i, COLUMN_EVENT),
            .event_type = db_value(rows, i, COLUMN_TYPE),
            .data = db_value(rows, i, COLUMN_DATA),
            .url = db_value(rows, i, COLUMN_URL),
            .created_at = db_value_int(rows, i, COLUMN_CREATED_AT),
            .signs = db_value_bool(rows, i, COLUMN_SIGNS),
            .sealed_secret = db_value(rows, i, COLUMN_SECRET),
            .waited_us = db_value_int(rows, i, COLUMN_WAITED),
        };
    }
    out->claims = claims;
    out->n_claims = n;
}

/* -- the turn --------------------------------------------------------------------------------- */

enum status store_turn(struct store *store, const struct store_ask *ask, struct store_told *out)
{
    struct store_told told = {0};
    size_t settle = 0, hand_back = 0, recover = 0, fan_out = 0, claim = 0;
    struct db *db = store->db;
    enum status st;

    arena_clear(&store->arena);
    db_open_batch(db, clock_us() + store->patience_ms * INT64_C(1000));
    db_add(db, SQL_LOCK_QUEUE, NULL, 0);
    if (ask->n_ended > 0)
        settle = add_settle(store, ask);
    if (ask->under_way.p != NULL)
        hand_back = keep_claims(store, ask->under_way);
    if (ask->recovers)
        recover = db_add(db, SQL_RECOVER, NULL, 0);
    if (ask->fans_out) {
        const db_param params[] = {number(store, FANNED_AIM), number(store, EVENTS_MOST)};

        fan_out = db_add(db, SQL_FAN_OUT, params, 2);
    }
    if (ask->slots > 0)
        claim = add_claim(store, ask);
    st = db_commit(db);
    if (st != ST_OK)
        return st;
    if (settle > 0)
        told.n_settled = db_value_int(db_result(db, settle), 0, 0);
    if (hand_back > 0)
        told.n_handed_back = db_value_int(db_result(db, hand_back), 0, 0);
    if (recover > 0) {
        told.n_interrupted = db_value_int(db_result(db, recover), 0, 0);
        told.n_quarantined = db_value_int(db_result(db, recover), 0, 1);
    }
    if (fan_out > 0) {
        told.n_events = db_value_int(db_result(db, fan_out), 0, 0);
        told.n_fanned = db_value_int(db_result(db, fan_out), 0, 1);
        told.has_more_events = db_value_bool(db_result(db, fan_out), 0, 2);
    }
    if (claim > 0)
        read_claims(store, db_result(db, claim), &told);
    *out = told;
    return ST_OK;
}
