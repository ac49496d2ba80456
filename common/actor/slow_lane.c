#include "common/actor/slow_lane.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/base/arena.h"
#include "common/base/log.h"
#include "common/base/rate.h"
#include "common/base/recent_table.h"
#include "common/bus/bus.h"

enum {
    PRICE_US = 10 * FAIR_UNIT_US, /* of a unit: an organization earns a tenth of a backend */
    BURST_US = 10 * 20000,        /* what a bucket holds: 20 ms of a backend */
    SPENT_MAX_US = SLOW_US,       /* an organization that stops has earned it when SLOW_US end */
    SETS = 256,
    WAYS = 8,
};

/* The bucket of an organization. One that was evicted is learned again from a few commands. */
struct bucket {
    struct recent recent; /* by organization */
    struct rate rate;
    int64_t slow_until_us;
};

struct put {
    struct uuid organization;
    struct waiting waiting;
};

struct slow_lane {
    struct bus *bus;
    atomic_int_least64_t slow_until_us; /* the latest of all buckets; usually in the past */
    pthread_mutex_t lock;               /* for all below */
    struct recent_table *buckets;
    struct put *ring;
    size_t max, max_bytes, first, n, bytes;
};

struct slow_lane *slow_lane_new(struct bus *bus, size_t max, size_t max_bytes)
{
    struct slow_lane *lane = heap_zeroed(1, sizeof(*lane));

    must(max > 0 && pthread_mutex_init(&lane->lock, NULL) == 0);
    lane->buckets = recent_table_new(SETS, WAYS, sizeof(struct bucket), 0);
    lane->ring = heap_zeroed(max, sizeof(struct put));
    lane->bus = bus;
    lane->max = max;
    lane->max_bytes = max_bytes;
    return lane;
}

void slow_lane_free(struct slow_lane *lane)
{
    struct uuid organization;
    struct waiting left;

    if (lane == NULL)
        return;
    while (slow_lane_take(lane, &organization, &left))
        bus_message_free(left.message);
    pthread_mutex_destroy(&lane->lock);
    recent_table_free(lane->buckets);
    free(lane->ring);
    free(lane);
}

/* -- slow organizations ---------------------------------------------------------------------- */

static void tell_slow(const struct uuid *organization)
{
    char text[UUID_TEXT + 1];

    uuid_format(organization, text);
    LOG(LOG_INFO, "an organization sends expensive commands; they use the slow lane",
        log_str("organization_id", text));
}

bool slow_lane_charge(struct slow_lane *lane, const struct uuid *organization, uint32_t cost,
                      int64_t now_us)
{
    struct bucket *bucket;
    bool is_slow, was_slow;

    if (cost < EXPENSIVE_COST)
        return false;
    pthread_mutex_lock(&lane->lock);
    bucket = recent_table_add(lane->buckets, organization->b);
    bucket->recent.rank = now_us;
    was_slow = bucket->slow_until_us > now_us;
    rate_charge(&bucket->rate, (int64_t)cost * PRICE_US, SPENT_MAX_US, now_us);
    is_slow = bucket->rate.spent_us > BURST_US;
    if (is_slow) {
        bucket->slow_until_us = now_us + SLOW_US;
        atomic_store(&lane->slow_until_us, bucket->slow_until_us);
    }
    pthread_mutex_unlock(&lane->lock);
    if (is_slow && !was_slow)
        tell_slow(organization);
    return is_slow || was_slow;
}

bool slow_lane_has(struct slow_lane *lane, const struct uuid *organization, int64_t now_us)
{
    const struct bucket *bucket;
    bool is_slow;

    if (atomic_load(&lane->slow_until_us) <= now_us)
        return false;
    pthread_mutex_lock(&lane->lock);
    bucket = recent_table_find(lane->buckets, organization->b);
    is_slow = bucket != NULL && bucket->slow_until_us > now_us;
    pthread_mutex_unlock(&lane->lock);
    return is_slow;
}

/* -- handing over ---------------------------------------------------------------------------- */

bool slow_lane_put(struct slow_lane *lane, const struct uuid *organization,
                   const struct waiting *waiting)
{
    bool has_room, was_empty;

    pthread_mutex_lock(&lane->lock);
    was_empty = lane->n == 0;
    has_room = lane->n < lane->max && lane->bytes + waiting->bytes <= lane->max_bytes;
    if (has_room) {
        struct put *const put = &lane->ring[(lane->first + lane->n) % lane->max];

        put->organization = *organization;
        put->waiting = *waiting;
        lane->n++;
        lane->bytes += waiting->bytes;
    }
    pthread_mutex_unlock(&lane->lock);
    if (has_room && was_empty && lane->bus != NULL)
        bus_wake(lane->bus);
    return has_room;
}

bool slow_lane_take(struct slow_lane *lane, struct uuid *organization, struct waiting *waiting)
{
    bool has_any;

    pthread_mutex_lock(&lane->lock);
    has_any = lane->n > 0;
    if (has_any) {
        const struct put *const put = &lane->ring[lane->first];

        *organization = put->organization;
        *waiting = put->waiting;
        lane->first = (lane->first + 1) % lane->max;
        lane->n--;
        lane->bytes -= waiting->bytes;
    }
    pthread_mutex_unlock(&lane->lock);
    return has_any;
}
