#include "common/actor/slow_lane.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/log.h"
#include "common/bus/bus.h"

enum {
    LEAK_A_SECOND = 1000000 / FAIR_UNIT_US / 10, /* units */
    BURST = 20000 / FAIR_UNIT_US,                /* what a bucket holds: 20 ms of a backend */
    REPLIES_MAX = 4096,                          /* more than the lane ever holds */
    LEVEL_MAX = 10 * LEAK_A_SECOND, /* an organization that stops has leaked it when SLOW_US end */
    SETS_BITS = 8,
    SETS = 1 << SETS_BITS,
    WAYS = 4,
};

/* The bucket of an organization. One that was evicted is learned again from a few commands. */
struct bucket {
    struct uuid organization;
    uint32_t level; /* units, at level_us */
    int64_t level_us;
    int64_t slow_until_us;
};

struct put {
    struct uuid organization;
    struct waiting waiting;
};

struct slow_lane {
    struct bus *bus;
    struct reply_queue *reply_queues;
    atomic_bool is_hurried;
    atomic_int_least64_t slow_until_us; /* the latest of all buckets; usually in the past */
    atomic_size_t n_unsent;             /* in reply_queues */
    pthread_mutex_t lock;               /* for all below */
    struct bucket buckets[SETS][WAYS];
    struct put *ring;
    size_t max, max_bytes, first, n, bytes;
};

struct reply_queue {
    struct slow_lane *lane;
    struct reply_queue *next; /* in the lane's list */
    pthread_mutex_t lock;     /* for all below */
    struct bus *bus;          /* NULL: it is closed */
    struct slow_reply ring[REPLIES_MAX];
    size_t first, n;
    size_t n_lent; /* commands with room for their replies in the ring */
};

struct slow_lane *slow_lane_new(size_t max, size_t max_bytes)
{
    struct slow_lane *lane = heap_zeroed(1, sizeof(*lane));

    must(max > 0 && pthread_mutex_init(&lane->lock, NULL) == 0);
    lane->ring = heap_zeroed(max, sizeof(struct put));
    lane->max = max;
    lane->max_bytes = max_bytes;
    return lane;
}

void slow_lane_wakes(struct slow_lane *lane, struct bus *bus)
{
    lane->bus = bus;
}

void slow_lane_free(struct slow_lane *lane)
{
    struct uuid organization;
    struct waiting left;

    if (lane == NULL)
        return;
    while (slow_lane_take(lane, &organization, &left))
        bus_message_free(left.message);
    while (lane->reply_queues != NULL) {
        struct reply_queue *const reply_queue = lane->reply_queues;

        lane->reply_queues = reply_queue->next;
        reply_queue_close(reply_queue);
        pthread_mutex_destroy(&reply_queue->lock);
        free(reply_queue);
    }
    pthread_mutex_destroy(&lane->lock);
    free(lane->ring);
    free(lane);
}

/* -- slow organizations ---------------------------------------------------------------------- */

/* Ids end with random bits. */
static struct bucket *set_of(struct slow_lane *lane, const struct uuid *organization)
{
    uint32_t hash;

    memcpy(&hash, organization->b + sizeof(organization->b) - sizeof(hash), sizeof(hash));
    return lane->buckets[(hash * 2654435761u) >> (32 - SETS_BITS)];
}

static struct bucket *find(struct slow_lane *lane, const struct uuid *organization)
{
    struct bucket *const set = set_of(lane, organization);

    for (size_t i = 0; i < WAYS; i++)
        if (set[i].level_us != 0 && uuid_equal(&set[i].organization, organization))
            return &set[i];
    return NULL;
}

/* Replaces the bucket of the set that was charged least recently. */
static struct bucket *make(struct slow_lane *lane, const struct uuid *organization, int64_t now_us)
{
    struct bucket *const set = set_of(lane, organization), *bucket = set;

    for (size_t i = 1; i < WAYS; i++)
        if (set[i].level_us < bucket->level_us)
            bucket = &set[i];
    *bucket = (struct bucket){.organization = *organization, .level_us = now_us};
    return bucket;
}

static void fill(struct bucket *bucket, uint32_t cost, int64_t now_us)
{
    const int64_t leaked = (now_us - bucket->level_us) * LEAK_A_SECOND / 1000000;
    const uint32_t left = leaked < bucket->level ? bucket->level - (uint32_t)leaked : 0;

    bucket->level = cost < LEVEL_MAX - left ? left + cost : LEVEL_MAX;
    bucket->level_us = now_us;
}

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
    bucket = find(lane, organization);
    if (bucket == NULL)
        bucket = make(lane, organization, now_us);
    was_slow = bucket->slow_until_us > now_us;
    fill(bucket, cost, now_us);
    is_slow = bucket->level > BURST;
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
    bucket = find(lane, organization);
    is_slow = bucket != NULL && bucket->slow_until_us > now_us;
    pthread_mutex_unlock(&lane->lock);
    return is_slow;
}

/* -- handing over ---------------------------------------------------------------------------- */

static bool lend(struct reply_queue *reply_queue)
{
    bool has_room;

    if (reply_queue == NULL)
        return true;
    pthread_mutex_lock(&reply_queue->lock);
    has_room = reply_queue->n + reply_queue->n_lent < REPLIES_MAX;
    if (has_room)
        reply_queue->n_lent++;
    pthread_mutex_unlock(&reply_queue->lock);
    return has_room;
}

bool slow_lane_put(struct slow_lane *lane, const struct uuid *organization,
                   const struct waiting *waiting)
{
    bool has_room, was_empty;

    if (!lend(waiting->reply_queue))
        return false;
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
    if (!has_room)
        reply_queue_settle(waiting->reply_queue);
    else if (was_empty && lane->bus != NULL)
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

/* -- what comes back ------------------------------------------------------------------------- */

struct reply_queue *reply_queue_new(struct slow_lane *lane, struct bus *bus)
{
    struct reply_queue *reply_queue = heap_zeroed(1, sizeof(*reply_queue));

    must(pthread_mutex_init(&reply_queue->lock, NULL) == 0);
    reply_queue->lane = lane;
    reply_queue->bus = bus;
    reply_queue->next = lane->reply_queues;
    lane->reply_queues = reply_queue;
    return reply_queue;
}

void reply_queue_close(struct reply_queue *reply_queue)
{
    struct slow_reply left;

    if (reply_queue == NULL)
        return;
    pthread_mutex_lock(&reply_queue->lock);
    reply_queue->bus = NULL;
    pthread_mutex_unlock(&reply_queue->lock);
    while (reply_queue_take(reply_queue, &left))
        bus_message_free(left.message);
}

void reply_queue_put(struct reply_queue *reply_queue, struct slow_reply reply)
{
    if (reply.message == NULL)
        return;
    pthread_mutex_lock(&reply_queue->lock);
    if (reply_queue->bus != NULL) {
        must(reply_queue->n < REPLIES_MAX); /* lend() keeps room */
        reply_queue->ring[(reply_queue->first + reply_queue->n++) % REPLIES_MAX] = reply;
        atomic_fetch_add(&reply_queue->lane->n_unsent, 1);
        reply.message = NULL;
    }
    pthread_mutex_unlock(&reply_queue->lock);
    bus_message_free(reply.message);
}

void reply_queue_settle(struct reply_queue *reply_queue)
{
    if (reply_queue == NULL)
        return;
    pthread_mutex_lock(&reply_queue->lock);
    must(reply_queue->n_lent > 0);
    reply_queue->n_lent--;
    if (reply_queue->bus != NULL)
        bus_wake(reply_queue->bus);
    pthread_mutex_unlock(&reply_queue->lock);
}

bool reply_queue_take(struct reply_queue *reply_queue, struct slow_reply *reply)
{
    bool has_any;

    pthread_mutex_lock(&reply_queue->lock);
    has_any = reply_queue->n > 0;
    if (has_any) {
        *reply = reply_queue->ring[reply_queue->first];
        reply_queue->first = (reply_queue->first + 1) % REPLIES_MAX;
        reply_queue->n--;
        atomic_fetch_sub(&reply_queue->lane->n_unsent, 1);
    }
    pthread_mutex_unlock(&reply_queue->lock);
    return has_any;
}

bool reply_queue_is_awaited(struct reply_queue *reply_queue)
{
    bool has_any;

    pthread_mutex_lock(&reply_queue->lock);
    has_any = reply_queue->n > 0 || reply_queue->n_lent > 0;
    pthread_mutex_unlock(&reply_queue->lock);
    return has_any;
}

bool slow_lane_has_unsent(const struct slow_lane *lane)
{
    return atomic_load(&lane->n_unsent) > 0;
}

void slow_lane_hurry(struct slow_lane *lane)
{
    atomic_store(&lane->is_hurried, true);
}

bool slow_lane_is_hurried(const struct slow_lane *lane)
{
    return atomic_load(&lane->is_hurried);
}
