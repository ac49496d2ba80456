#include "services/gateway/postponed.h"

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/http/edge.h"
#include "services/gateway/gateway_metrics.h"
#include "services/gateway/key_cache.h"
#include "services/gateway/wait_list.h"

#define LOOK_MS 50

static int64_t window_now(void)
{
    return clock_us() / 1000000 / QUOTA_WINDOW_SECONDS;
}

static void on_look(struct timer *timer);

static void look_again(struct postponed *postponed)
{
    if (!list_is_empty(&postponed->waiting) && !timer_is_running(&postponed->timer))
        timer_start(&postponed->edge->timers, &postponed->timer, LOOK_MS, on_look);
}

static void on_look(struct timer *timer)
{
    struct postponed *postponed = H2O_STRUCT_FROM_MEMBER(struct postponed, timer, timer);

    if (postponed->window != window_now() || postponed->edge->stopping)
        wait_list_resume(&postponed->waiting);
    look_again(postponed);
}

struct postponed *postponed_new(struct edge *edge)
{
    struct postponed *postponed = heap_zeroed(1, sizeof(*postponed));

    postponed->edge = edge;
    list_init(&postponed->waiting);
    return postponed;
}

bool postponed_add(struct postponed *postponed, struct key *key, struct wait_entry *entry)
{
    if (postponed->edge->stopping || postponed->n >= POSTPONED_MAX ||
        key->n_postponed >= POSTPONED_OF_KEY)
        return false;
    if (list_is_empty(&postponed->waiting))
        postponed->window = window_now();
    wait_list_add(entry, &postponed->waiting);
    look_again(postponed);
    postponed->n++;
    key->n_postponed++;
    metric_add(gateway_metrics.postponed, 1);
    return true;
}

void postponed_leave(struct postponed *postponed, struct key *key)
{
    must(postponed->n > 0 && key->n_postponed > 0);
    postponed->n--;
    key->n_postponed--;
}

void postponed_note_drop(struct postponed *postponed, struct key *key)
{
    const int64_t window = window_now();

    metric_add(gateway_metrics.dropped, 1);
    if (postponed->told_window != window) {
        postponed->told_window = window;
        postponed->n_told = 0;
    }
    if (key->drop_told == window || postponed->n_told == POSTPONED_LINES)
        return;
    key->drop_told = window;
    postponed->n_told++;
    LOG(LOG_WARNING,
        "a key sends more than twice its limit; connections of its requests are ended without an "
        "answer until the window ends",
        log_str("organization_id", key->record.organization_id),
        log_str("api_key_id", key->record.api_key_id));
}
