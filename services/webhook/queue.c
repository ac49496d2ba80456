#include "services/webhook/queue.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/db/db.h"
#include "common/db/db_url.h"
#include "common/db/params.h"
#include "common/json/json.h"
#include "services/webhook/bounds.h"
#include "webhook_sql.h"

enum {
    CONNECT_MS = 50,
    ARENA_MAX = 64 * 1024 * 1024,
    /* Fan-out of a transaction: rows to write, organizations to look at, and events of each. */
    FANNED_AIM = 2000,
    ORGANIZATIONS_MAX = 256,
    EVENTS_MAX = 64,
    RESENDS_MAX = 500,            /* of a transaction */
    RETRIED_ENDPOINTS = 20,       /* that have a turn in a transaction */
    RETRIED_EACH = 25,            /* retries of an endpoint in its turn */
    RETRIES_WAITING_MAX = 100000, /* of an endpoint */
    /* For a transaction that looks at everything, as the first of a session does: under an old snapshot
       that may be millions of rows. Claims are made at its end, so they outlive it all the same. */
    LOOK_AT_ALL_MS = 30 * 1000,
    RETRIES_PART = 4, /* retries get budget / RETRIES_PART on top of an organization's budget */
};

struct queue {
    struct db *db;
    struct arena arena; /* of one transaction */
    struct bounds bounds;
    char worker[UUID_TEXT + 1]; /* the owner of our claims */
    /* The organizations that had the last turn of fan-out and of resends. */
    char served[UUID_TEXT + 1], resent[UUID_TEXT + 1];
    int claim_ms, timeout_ms; /* timeout_ms is shorter: a claim outlives its transaction */
    int budget;
    int64_t quick_us;
};

struct queue *queue_new(const struct queue_options *options)
{
    struct queue *queue = heap_zeroed(1, sizeof(*queue));
    const struct uuid worker = uuid_v7(clock_us());

    queue->claim_ms = options->claim_ms;
    queue->timeout_ms = options->claim_ms * 3 / 5;
    queue->budget = options->budget;
    queue->quick_us = options->wait_timeout_us / 4;
    uuid_format(&worker, queue->worker);
    uuid_format(&(struct uuid){0}, queue->served);
    uuid_format(&(struct uuid){0}, queue->resent);
    arena_init(&queue->arena, ARENA_MAX);
    bounds_init(&queue->bounds);
    queue->db = db_new(&(struct db_options){
        .url = options->database_url,
        .name = options->name,
        .statements = webhook_sql,
        .n_statements = WEBHOOK_SQL_COUNT,
    });
    if (queue->db == NULL) {
        LOG(LOG_ERROR, "DATABASE_URL cannot be used",
            log_str("reason", db_url_fault(options->database_url)));
        queue_free(queue);
        return NULL;
    }
    return queue;
}

void queue_free(struct queue *queue)
{
    if (queue == NULL)
        return;
    db_free(queue->db);
    bounds_release(&queue->bounds);
    arena_release(&queue->arena);
    free(queue);
}

bool queue_is_up(struct queue *queue)
{
    db_check(queue->db);
    return db_connect(queue->db, CONNECT_MS) == ST_OK;
}

static struct str number(struct queue *queue, int64_t value)
{
    return param_int(&queue->arena, value);
}

/* -- what ended ------------------------------------------------------------------------------- */

static void add_text(struct buf *out, const char *name, struct str text)
{
    json_add_key(out, name);
    json_add_string(out, text);
}

/* Writes a negative number as null. */
static void add_number(struct buf *out, const char *name, int64_t number)
{
    json_add_key(out, name);
    if (number < 0)
        buf_add(out, STR("null"));
    else
        buf_int(out, number);
}

/* The column holds up to half an hour; a process that was suspended may exceed that. */
static void add_span(struct buf *out, const char *name, int64_t us)
{
    add_number(out, name, us < INT32_MAX ? us : INT32_MAX);
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
    add_span(out, "dns_us", attempt->dns_us);
    add_span(out, "connect_us", attempt->connect_us);
    add_span(out, "tls_us", attempt->tls_us);
    add_span(out, "wait_us", attempt->wait_us);
    add_span(out, "total_us", attempt->total_us);
    add_text(out, "address", attempt->has_address ? str_of(address) : STR_NONE);
    add_text(out, "excerpt", attempt->http_status > 0 ? attempt_inert(arena, excerpt) : STR_NONE);
    buf_char(out, '}');
}

static size_t add_complete(struct queue *queue, const struct queue_wants *wants)
{
    struct buf out;

    buf_init(&out, &queue->arena, 512 * wants->n_ended);
    buf_char(&out, '[');
    for (size_t i = 0; i < wants->n_ended; i++) {
        if (i > 0)
            buf_char(&out, ',');
        write_ended(&queue->arena, &out, wants->ended[i]);
    }
    buf_char(&out, ']');
    return db_add(queue->db, SQL_COMPLETE,
                  PARAMS(buf_str(&out), number(queue, RETRIES_WAITING_MAX)));
}

static void read_complete(const struct db_rows *rows, struct queue_result *out)
{
    out->n_completed = db_value_int(rows, 0, COMPLETE_COMPLETED);
    out->n_scheduled = db_value_int(rows, 0, COMPLETE_SCHEDULED);
    out->n_unscheduled = db_value_int(rows, 0, COMPLETE_UNSCHEDULED);
}

/* -- claims ----------------------------------------------------------------------------------- */

/* It succeeded so quickly that all that waits for its endpoint begins before it is given back. */
static bool was_quick(const struct queue *queue, const struct attempt *attempt)
{
    return attempt->failure == FAILURE_NONE && attempt->total_us < queue->quick_us;
}

/* The organization and endpoint of each quick attempt, as two arrays. */
static void list_quick(struct queue *queue, const struct queue_wants *wants, struct str lists[2])
{
    struct buf organizations, endpoints;

    array_open(&organizations, &queue->arena, 1024);
    array_open(&endpoints, &queue->arena, 1024);
    for (size_t i = 0; i < wants->n_ended; i++) {
        if (!was_quick(queue, wants->ended[i]))
            continue;
        array_add_plain(&organizations, wants->ended[i]->organization_id);
        array_add_plain(&endpoints, wants->ended[i]->endpoint_id);
    }
    lists[0] = array_close(&organizations);
    lists[1] = array_close(&endpoints);
}

static size_t add_claim(struct queue *queue, const struct queue_wants *wants)
{
    struct str quick[2];

    list_quick(queue, wants, quick);

    return db_add(queue->db, SQL_CLAIM,
                  PARAMS(number(queue, wants->slots), number(queue, wants->slots_proven),
                         number(queue, wants->slots_other), number(queue, queue->claim_ms),
                         str_of(queue->worker), quick[0], quick[1],
                         number(queue, queue->bounds.claims), number(queue, queue->bounds.turns)));
}

static size_t add_recover(struct queue *queue)
{
    return db_add(queue->db, SQL_RECOVER, PARAMS(number(queue, queue->bounds.claims)));
}

static void add_renew(struct queue *queue, struct str claimed)
{
    db_add(queue->db, SQL_RENEW, PARAMS(claimed, number(queue, queue->claim_ms)));
}

static size_t add_release(struct queue *queue, struct str claimed)
{
    return db_add(queue->db, SQL_RELEASE,
                  PARAMS(str_of(queue->worker), claimed, number(queue, queue->bounds.claims)));
}

static void read_claims(struct queue *queue, const struct db_rows *rows, struct queue_result *out)
{
    const size_t n = db_rows_count(rows);
    struct delivery_claim *claims = ARENA_ARRAY(&queue->arena, struct delivery_claim, n + 1);

    for (size_t i = 0; i < n; i++) {
        claims[i] = (struct delivery_claim){
            .organization_id = db_value(rows, i, CLAIM_ORGANIZATION_ID),
            .endpoint_id = db_value(rows, i, CLAIM_ENDPOINT_ID),
            .id = db_value(rows, i, CLAIM_ID),
            .fence = db_value(rows, i, CLAIM_FENCE),
            .event_id = db_value(rows, i, CLAIM_EVENT_ID),
            .event_type = db_value(rows, i, CLAIM_EVENT_TYPE),
            .data = db_value(rows, i, CLAIM_DATA),
            .url = db_value(rows, i, CLAIM_URL),
            .created_at = db_value_int(rows, i, CLAIM_CREATED_AT),
            .signs = db_value_bool(rows, i, CLAIM_SIGNING),
            .sealed_secret = db_value(rows, i, CLAIM_SECRET),
            .waited_us = db_value_int(rows, i, CLAIM_WAITED_US),
        };
    }
    out->claims = claims;
    out->n_claims = n;
}

/* -- fan-out ----------------------------------------------------------------------------------- */

static size_t add_fan_out(struct queue *queue)
{
    return db_add(queue->db, SQL_FAN_OUT,
                  PARAMS(number(queue, FANNED_AIM), number(queue, EVENTS_MAX),
                         number(queue, ORGANIZATIONS_MAX), str_of(queue->served),
                         number(queue, queue->budget), queue->bounds.seen, queue->bounds.left_over,
                         queue->bounds.left_since));
}

static void remember(char last[UUID_TEXT + 1], struct str organization)
{
    if (organization.n == UUID_TEXT)
        memcpy(last, organization.p, UUID_TEXT);
}

_Static_assert(FAN_OUT_UNRECORDED - FAN_OUT_DISABLED == QUEUE_SKIPS,
               "one column for each skip reason");

static void read_fan_out(struct queue *queue, const struct db_rows *rows, struct queue_result *out)
{
    out->n_events = db_value_int(rows, 0, FAN_OUT_EVENTS);
    out->n_fanned = db_value_int(rows, 0, FAN_OUT_FANNED);
    for (int i = 0; i < QUEUE_SKIPS; i++)
        out->n_skipped[i] = db_value_int(rows, 0, FAN_OUT_DISABLED + i);
    out->n_unrecorded = db_value_int(rows, 0, FAN_OUT_UNRECORDED);
    out->has_more_events = db_value_bool(rows, 0, FAN_OUT_HAS_MORE);
    remember(queue->served, db_value(rows, 0, FAN_OUT_SERVED));
    bounds_keep_events(&queue->bounds, rows);
}

static size_t add_resends(struct queue *queue)
{
    return db_add(queue->db, SQL_QUEUE_RESENDS,
                  PARAMS(number(queue, RESENDS_MAX), number(queue, ORGANIZATIONS_MAX),
                         str_of(queue->resent), number(queue, queue->budget)));
}

static void read_resends(struct queue *queue, const struct db_rows *rows, struct queue_result *out)
{
    out->has_more_resends = db_value_int(rows, 0, QUEUE_RESENDS_TAKEN) == RESENDS_MAX;
    remember(queue->resent, db_value(rows, 0, QUEUE_RESENDS_SERVED));
}

static size_t add_retries(struct queue *queue)
{
    return db_add(queue->db, SQL_QUEUE_RETRIES,
                  PARAMS(number(queue, RETRIED_ENDPOINTS), number(queue, RETRIED_EACH),
                         number(queue, queue->budget / RETRIES_PART),
                         number(queue, queue->bounds.retries)));
}

static void read_retries(const struct db_rows *rows, struct queue_result *out)
{
    out->n_retried = db_value_int(rows, 0, QUEUE_RETRIES_QUEUED);
    out->n_dropped = db_value_int(rows, 0, QUEUE_RETRIES_DROPPED);
    out->has_more_retries = db_value_bool(rows, 0, QUEUE_RETRIES_HAS_MORE);
}

/* -- the transaction --------------------------------------------------------------------------- */

/* The index of each statement in the batch; 0 = not in it (the first is lock_queue.sql). */
struct places {
    size_t complete, release, recover, fan_out, resends, retries, claim, bounds;
};

static size_t add_bounds(struct queue *queue)
{
    return db_add(queue->db, SQL_FIND_BOUNDS,
                  PARAMS(number(queue, queue->bounds.claims), number(queue, queue->bounds.turns),
                         number(queue, queue->bounds.retries)));
}

static struct places add_all(struct queue *queue, const struct queue_wants *wants)
{
    struct places at = {0};

    db_add(queue->db, SQL_LOCK_QUEUE, NULL);
    if (wants->n_ended > 0)
        at.complete = add_complete(queue, wants);
    if (wants->renews)
        add_renew(queue, wants->claimed);
    if (wants->claimed.p != NULL)
        at.release = add_release(queue, wants->claimed);
    if (wants->recovers)
        at.recover = add_recover(queue);
    if (wants->fans_out)
        at.fan_out = add_fan_out(queue);
    if (wants->resends)
        at.resends = add_resends(queue);
    if (wants->retries)
        at.retries = add_retries(queue);
    if (wants->slots > 0)
        at.claim = add_claim(queue, wants);
    at.bounds = add_bounds(queue);
    return at;
}

static void read_recover(const struct db_rows *rows, struct queue_result *out)
{
    out->n_interrupted = db_value_int(rows, 0, RECOVER_INTERRUPTED);
    out->n_quarantined = db_value_int(rows, 0, RECOVER_QUARANTINED);
}

static void read_all(struct queue *queue, const struct places *at, struct queue_result *out)
{
    struct db *db = queue->db;

    *out = (struct queue_result){0};
    if (at->complete > 0)
        read_complete(db_result(db, at->complete), out);
    if (at->release > 0)
        out->n_released = db_value_int(db_result(db, at->release), 0, RELEASE_RELEASED);
    if (at->recover > 0)
        read_recover(db_result(db, at->recover), out);
    if (at->fan_out > 0)
        read_fan_out(queue, db_result(db, at->fan_out), out);
    if (at->resends > 0)
        read_resends(queue, db_result(db, at->resends), out);
    if (at->retries > 0)
        read_retries(db_result(db, at->retries), out);
    if (at->claim > 0)
        read_claims(queue, db_result(db, at->claim), out);
    bounds_keep_numbers(&queue->bounds, db_result(db, at->bounds));
}

enum status queue_transact(struct queue *queue, const struct queue_wants *wants,
                           struct queue_result *out)
{
    const int timeout_ms = bounds_are_known(&queue->bounds) ? queue->timeout_ms : LOOK_AT_ALL_MS;
    struct places at;
    enum status st;

    arena_clear(&queue->arena);
    db_open_batch(queue->db, clock_us() + INT64_C(1000) * timeout_ms);
    at = add_all(queue, wants);
    st = db_commit(queue->db);
    if (st == ST_OK)
        read_all(queue, &at, out);
    return st;
}
