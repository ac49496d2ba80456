/* Reports to access how keys were used: v1.access.used. */

#include "services/gateway/key_usage.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/buf.h"
#include "common/base/log.h"
#include "common/json/json.h"
#include "proto/headers.h"
#include "proto/outcome.h"
#include "proto/subject.h"
#include "services/gateway/gateway.h"
#include "services/gateway/gateway_metrics.h"
#include "services/gateway/key_cache.h"

enum { KEYS_MAX = 250, REPORTS_MAX = 8, REPORT_MAX = 1024 * 1024 };

struct usage_report {
    struct list link;
    struct arena arena;
    struct buf body;
    size_t n;       /* keys in it */
    bool is_closed; /* nothing more can be added */
};

/* -- reports --------------------------------------------------------------------------------- */

static struct usage_report *add_report(struct key_usage *usage)
{
    struct usage_report *report = heap_zeroed(1, sizeof(*report));

    arena_init(&report->arena, REPORT_MAX);
    buf_init(&report->body, &report->arena, 4096);
    buf_add(&report->body, STR("{\"keys\":["));
    list_add(&usage->reports, &report->link);
    usage->n_reports++;
    return report;
}

/* NULL: there is none. */
static struct usage_report *first_of(const struct key_usage *usage)
{
    return LIST_FIRST(&usage->reports, struct usage_report, link);
}

static void drop_first(struct key_usage *usage)
{
    struct usage_report *report = first_of(usage);

    list_remove(&report->link);
    usage->n_reports--;
    arena_release(&report->arena);
    free(report);
}

/* The report that can be added to; NULL: the maximum number is pending. */
static struct usage_report *open_report(struct key_usage *usage)
{
    struct usage_report *last = LIST_LAST(&usage->reports, struct usage_report, link);

    if (last != NULL && last->n < KEYS_MAX && !last->is_closed)
        return last;
    return usage->n_reports < REPORTS_MAX ? add_report(usage) : NULL;
}

static void add_counts(struct buf *body, const struct usage_tally *tally)
{
    for (size_t i = 0; i < USAGE_OUTCOMES; i++)
        if (tally->outcomes[i] > 0)
            json_add_integer(body, usage_outcome_name((enum usage_outcome)i), tally->outcomes[i]);
    json_add_key(body, "latency");
    buf_char(body, '[');
    for (size_t i = 0; i < USAGE_BUCKETS; i++) {
        if (i > 0)
            buf_char(body, ',');
        buf_int(body, tally->latency[i]);
    }
    buf_char(body, ']');
}

/* False: no report has room for it. */
static bool put(struct key_usage *usage, const struct key *key)
{
    struct usage_report *report = open_report(usage);
    struct buf *body;

    if (report == NULL)
        return false;
    body = &report->body;
    if (report->n > 0)
        buf_char(body, ',');
    buf_char(body, '{');
    json_add_text(body, "organization_id", str_of(key->record.organization_id));
    json_add_text(body, "api_key_id", str_of(key->record.api_key_id));
    json_add_integer(body, "at", key->used_s);
    json_add_integer(body, "minute", key->tally.minute);
    add_counts(body, &key->tally);
    buf_char(body, '}');
    report->n++;
    return true;
}

static void reset(struct usage_tally *tally)
{
    memset(tally->outcomes, 0, sizeof(tally->outcomes));
    memset(tally->latency, 0, sizeof(tally->latency));
}

/* Puts as many of the due keys into reports as fit. */
static void fill(struct gateway *gateway)
{
    struct key_usage *usage = gateway->usage;

    struct key *key;

    LIST_EACH(key, &usage->due, tally.listed) {
        if (!put(usage, key))
            return;
        reset(&key->tally);
        list_remove(&key->tally.listed);
        key_cache_put(gateway->keys, key);
    }
}

/* -- counting -------------------------------------------------------------------------------- */

struct key_usage *key_usage_new(void)
{
    struct key_usage *usage = heap_zeroed(1, sizeof(*usage));

    list_init(&usage->used);
    list_init(&usage->due);
    list_init(&usage->reports);
    return usage;
}

void key_usage_count(struct gateway *gateway, struct key *key, int status, int64_t took_us)
{
    struct key_usage *usage = gateway->usage;
    struct usage_tally *tally = &key->tally;
    int64_t minute = key->used_s / 60;

    if (!list_is_linked(&tally->listed)) {
        key_cache_hold(key);
        list_add(&usage->used, &tally->listed);
        tally->minute = minute;
    } else if (tally->minute < minute) {
        if (put(usage, key))
            reset(tally);
        tally->minute = minute;
    }
    tally->outcomes[usage_outcome_of(status)]++;
    tally->latency[usage_bucket(took_us)]++;
}

/* -- reporting ------------------------------------------------------------------------------- */

static void send_first(struct gateway *gateway);

/* Whether certainly nothing was written. */
static bool is_undone(enum call_end end, struct bus_message *message)
{
    enum outcome outcome = OUTCOME_UNCERTAIN;

    if (end != CALL_REPLIED)
        return end == CALL_NOBODY;
    (void)outcome_of(bus_message_header(message, HEADER_OUTCOME), &outcome);
    return outcome_http_status(outcome) == 503;
}

static void on_end(void *owner, enum call_end end, struct bus_message *message)
{
    struct gateway *gateway = owner;
    struct key_usage *usage = gateway->usage;

    usage->asking = false;
    if (is_undone(end, message)) {
        metric_add(gateway_metrics.usage_failed, 1);
    } else {
        metric_add(gateway_metrics.usage_uncertain, end != CALL_REPLIED);
        drop_first(usage);
        fill(gateway);
        send_first(gateway);
    }
    bus_message_free(message);
}

static struct str body_of(struct usage_report *report)
{
    if (!report->is_closed)
        buf_add(&report->body, STR("]}"));
    report->is_closed = true;
    return buf_str(&report->body);
}

static void send_first(struct gateway *gateway)
{
    struct key_usage *usage = gateway->usage;
    struct call_request call = {.subject = SUBJECT_ACCESS_USED, .on_end = on_end, .owner = gateway};

    if (usage->asking || first_of(usage) == NULL)
        return;
    call.body = body_of(first_of(usage));
    usage->asking = gateway_call(gateway, &call) == ST_OK;
}

void key_usage_report(struct gateway *gateway)
{
    struct key_usage *usage = gateway->usage;
    struct usage_report *last;

    list_add_all(&usage->due, &usage->used);
    fill(gateway);
    last = LIST_LAST(&usage->reports, struct usage_report, link);
    /* Closed, since a report may name a key only once for a minute. */
    if (last != NULL)
        (void)body_of(last);
    send_first(gateway);
}

void key_usage_finish(struct gateway *gateway)
{
    struct key_usage *usage = gateway->usage;
    struct usage_report *report;

    list_add_all(&usage->due, &usage->used);
    if (usage->asking)
        drop_first(usage);
    usage->asking = false;
    for (fill(gateway); (report = first_of(usage)) != NULL; fill(gateway)) {
        if (bus_publish(gateway->edge.bus, SUBJECT_ACCESS_USED, NULL, NULL, 0, body_of(report)) !=
            ST_OK)
            LOG(LOG_INFO, "could not send key usage report", log_int("keys", (int64_t)report->n));
        drop_first(usage);
    }
}
