#include "services/access/lane.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "proto/headers.h"
#include "proto/outcome.h"
#include "proto/subject.h"

enum {
    ANSWER_US = 5 * 1000 * 1000,
    RETRY_MIN_MS = 100,
    RETRY_MAX_MS = 5 * 1000,
    SET_ASIDE_MS = 5 * 60 * 1000,
    MEMORY_MAX = 16 * 1024 * 1024,
};

/* -- what a reply means ------------------------------------------------------------------------ */

/* server_error counts as a refusal, so that other changes need not wait until somebody has found the
   cause. */
enum lane_verdict lane_judge(struct str outcome)
{
    enum outcome of;

    if (outcome.n == 0 || !outcome_of(outcome, &of))
        return LANE_LATER;
    if (outcome_code(of) == NULL)
        return LANE_IN_LOG;
    return outcome_http_status(of) < 500 || of == OUTCOME_SERVER_ERROR ? LANE_REFUSED : LANE_LATER;
}

/* -- sending ----------------------------------------------------------------------------------- */

void lane_init(struct lane *lane)
{
    *lane = (struct lane){.limit = CLAIMED_MAX};
    arena_init(&lane->arena, MEMORY_MAX);
}

void lane_release(struct lane *lane)
{
    bus_message_free(lane->reply);
    arena_release(&lane->arena);
}

void lane_assign(struct lane *lane, const char *cell)
{
    if (strcmp(lane->cell, cell) == 0)
        return;
    (void)memcpy(lane->cell, cell, strlen(cell) + 1);
    lane->limit = CLAIMED_MAX;
    lane->retry_ms = 0;
}

bool lane_is_under_way(const struct lane *lane)
{
    return lane->claimed.n > 0;
}

bool lane_is_free(const struct lane *lane, int64_t now_us)
{
    return !lane_is_under_way(lane) && now_us >= lane->rests_until_us;
}

static void clear(struct lane *lane)
{
    lane->claimed = (struct claimed){.n = 0};
    arena_clear(&lane->arena);
}

static void send(struct lane *lane, struct bus *bus, uint64_t handle)
{
    const struct uuid id = uuid_v7(clock_us());
    char id_text[UUID_TEXT + 1], in_cell[CELL_SUBJECT_CAPACITY];
    const struct bus_header headers[] = {
        {HEADER_REQUEST_ID, id_text},
        {HEADER_DEADLINE, arena_printf(&lane->arena, "%" PRId64, (clock_us() + ANSWER_US) / 1000)},
    };

    uuid_format(&id, id_text);
    lane->handle = handle;
    lane->until_us = clock_mono_us() + ANSWER_US;
    lane->has_ended = false;
    if (bus_request(bus, subject_in_cell(SUBJECT_AUDIT_RECORD, lane->cell, in_cell), handle,
                    headers, ARRAY_SIZE(headers), lane->claimed.message) != ST_OK)
        lane->until_us = 0;
}

enum status lane_send(struct lane *lane, struct db *db, struct bus *bus, uint64_t handle)
{
    enum status st = claimed_take(db, lane->cell, lane->limit, &lane->arena, &lane->claimed);

    if (st == ST_OK && lane->claimed.n > 0)
        send(lane, bus, handle);
    else
        clear(lane);
    return st;
}

void lane_on_reply(struct lane *lane, struct bus_message *message)
{
    lane->handle = 0;
    lane->has_ended = true;
    lane->reply = message;
}

bool lane_has_ended(const struct lane *lane, int64_t now_us)
{
    return lane->has_ended || now_us >= lane->until_us;
}

/* -- after the reply --------------------------------------------------------------------------- */

/* In the arena; STR_NONE: there was no reply. A later one is dropped. */
static struct str take_outcome(struct lane *lane)
{
    struct str outcome = STR_NONE;

    lane->handle = 0;
    if (lane->reply != NULL)
        outcome = arena_str(&lane->arena, bus_message_header(lane->reply, HEADER_OUTCOME));
    bus_message_free(lane->reply);
    lane->reply = NULL;
    return outcome;
}

static enum status finish(struct lane *lane, struct db *db)
{
    lane->retry_ms = 0;
    lane->limit = lane->limit < CLAIMED_MAX / 2 ? lane->limit * 2 : CLAIMED_MAX;
    return claimed_clear(&lane->claimed, db);
}

/* A process that is stopping makes them due at once, for other processes. */
static enum status retry(struct lane *lane, struct db *db, bool is_stopping, struct str outcome)
{
    if (lane->retry_ms == 0)
        LOG(LOG_WARNING, "the audit service does not accept changes; retrying",
            log_str("cell", lane->cell), log_slice("outcome", outcome),
            log_int("changes", (int64_t)lane->claimed.n));
    lane->retry_ms = lane->retry_ms == 0 ? RETRY_MIN_MS : lane->retry_ms * 2;
    if (lane->retry_ms > RETRY_MAX_MS)
        lane->retry_ms = RETRY_MAX_MS;
    lane->rests_until_us = clock_mono_us() + lane->retry_ms * 1000;
    return claimed_postpone(&lane->claimed, is_stopping ? 0 : lane->retry_ms, STR_NONE, db,
                            &lane->arena);
}

/* Sets aside a change that was refused alone. Of several changes, any may be the cause: they are
   sent again, fewer at a time. */
static enum status set_aside(struct lane *lane, struct db *db, struct str outcome,
                             const struct lane_metrics *metrics)
{
    lane->retry_ms = 0;
    if (lane->claimed.n > 1) {
        lane->limit = lane->claimed.n / 2;
        return claimed_postpone(&lane->claimed, 0, STR_NONE, db, &lane->arena);
    }
    metric_add(metrics->refused, 1);
    LOG(LOG_ERROR, "the audit service refused a change; set aside and retried in five minutes",
        log_slice("id", lane->claimed.first), log_slice("outcome", outcome));
    return claimed_postpone(&lane->claimed, SET_ASIDE_MS, outcome, db, &lane->arena);
}

enum status lane_settle(struct lane *lane, struct db *db, bool is_stopping,
                        const struct lane_metrics *metrics)
{
    struct str outcome = take_outcome(lane);
    enum status st = ST_INTERNAL;

    switch (lane_judge(outcome)) {
    case LANE_IN_LOG:
        metric_add(metrics->sent, (int64_t)lane->claimed.n);
        st = finish(lane, db);
        break;
    case LANE_LATER:
        metric_add(metrics->retries, 1);
        st = retry(lane, db, is_stopping, outcome);
        break;
    case LANE_REFUSED:
        st = set_aside(lane, db, outcome, metrics);
        break;
    }
    clear(lane);
    return st;
}

struct lane_metrics lane_metrics_make(void)
{
    return (struct lane_metrics){
        .sent = metric_counter("conversations_access_outbox_sent_total", NULL,
                               "Changes that the audit service has recorded in the log of changes"),
        .refused = metric_counter("conversations_access_outbox_refused_total", NULL,
                                  "Refusals of a change by the audit service"),
        .retries = metric_counter("conversations_access_outbox_retries_total", NULL,
                                  "Messages with changes that the audit service did not accept"),
    };
}
