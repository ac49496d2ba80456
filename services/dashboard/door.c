#include "services/dashboard/door.h"

#include <stdlib.h>

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/str.h"

/* -- shares ---------------------------------------------------------------------------------- */

#define SETS      1024
#define WAYS      8
#define SECOND_US 1000000

struct shares {
    struct share_limit limit;
    struct recent_table *table;
};

struct shares *shares_new(const struct share_limit *limit, uint64_t seed)
{
    struct shares *shares = heap_zeroed(1, sizeof(*shares));

    must(limit->per_second > 0 && limit->burst > 0 && limit->at_once > 0);
    shares->limit = *limit;
    shares->table = recent_table_new(SETS, WAYS, sizeof(struct share), seed);
    return shares;
}

void shares_free(struct shares *shares)
{
    recent_table_free(shares->table);
    free(shares);
}

/* A share in use is not replaced. */
static void set_rank(struct share *share)
{
    share->recent.rank = share->under_way > 0 ? RECENT_KEPT : share->rate.as_of_us;
}

/* Takes one request. Seconds until one is earned; 0: it was taken. */
static unsigned earn(struct share *share, const struct share_limit *limit, int64_t mono_us)
{
    const int64_t price_us = SECOND_US / limit->per_second, max_us = price_us * limit->burst;
    const int64_t lacking_us = rate_take(&share->rate, price_us, max_us, mono_us);

    return (unsigned)((lacking_us + SECOND_US - 1) / SECOND_US);
}

struct share *shares_enter(struct shares *shares, struct str whose, int64_t mono_us,
                           unsigned *wait_s)
{
    struct share *share;

    must(whose.n >= sizeof(share->recent.key));
    share = recent_table_add(shares->table, (const uint8_t *)whose.p);
    *wait_s = 1;
    if (share == NULL || share->under_way >= shares->limit.at_once)
        return NULL;
    *wait_s = earn(share, &shares->limit, mono_us);
    share->under_way += *wait_s == 0;
    set_rank(share);
    return *wait_s == 0 ? share : NULL;
}

void share_leave(struct share *share)
{
    if (share == NULL)
        return;
    must(share->under_way > 0);
    share->under_way--;
    set_rank(share);
}

/* -- the door -------------------------------------------------------------------------------- */

void door_init(struct door *door, struct timers *timers, uint64_t seed)
{
    *door = (struct door){.timers = timers, .tries = throttle_new(UINT32_MAX, seed)};
    list_init(&door->inside);
    list_init(&door->waiting);
}

static size_t count_of_network(const struct list *list, const struct address *client)
{
    const struct network wide = network_wide(client);
    const struct door_place *place;
    size_t n = 0;

    LIST_EACH(place, list, link)
        n += network_holds(&wide, &place->client);
    return n;
}

static bool may_enter(struct door *door, const struct address *client)
{
    return door->n_inside < DOOR_AT_ONCE &&
           count_of_network(&door->inside, client) < DOOR_OF_NETWORK;
}

static void let_in(struct door *door, struct door_place *place)
{
    (void)throttle_note(door->tries, &place->client, clock_mono_us());
    place->is_inside = true;
    door->n_inside++;
    list_add(&door->inside, &place->link);
}

static void stop_waiting(struct door *door, struct door_place *place)
{
    timer_stop(&place->timer);
    list_remove(&place->link);
    door->n_waiting--;
}

/* NULL: nobody who waits may enter. */
static struct door_place *find_next(struct door *door)
{
    struct door_place *place, *next = NULL;
    uint32_t fewest = UINT32_MAX;

    LIST_EACH(place, &door->waiting, link) {
        uint32_t tries = throttle_count(door->tries, &place->client, clock_mono_us());

        if (tries < fewest && may_enter(door, &place->client)) {
            fewest = tries;
            next = place;
        }
    }
    return next;
}

static void turn_away(struct door_place *place)
{
    stop_waiting(place->door, place);
    place->on_turn(place, false);
}

static void on_timeout(struct timer *timer)
{
    turn_away(H2O_STRUCT_FROM_MEMBER(struct door_place, timer, timer));
}

/* The attempts that its network has had, and those that wait before it. */
static uint32_t weight_of(struct door *door, const struct door_place *place)
{
    return throttle_count(door->tries, &place->client, clock_mono_us()) + place->n_before;
}

/* Turns away the waiter with the highest weight (of several, the newest) to make room for one with
   a lower weight. False: none has a higher weight. */
static bool make_room(struct door *door, const struct door_place *newcomer)
{
    struct door_place *place, *heaviest = NULL;
    uint32_t max = weight_of(door, newcomer) + 1;

    LIST_EACH(place, &door->waiting, link) {
        const uint32_t weight = weight_of(door, place);

        if (weight >= max) {
            max = weight;
            heaviest = place;
        }
    }
    if (heaviest == NULL)
        return false;
    turn_away(heaviest);
    return true;
}

enum door_turn door_come(struct door *door, struct door_place *place, const struct address *client,
                         void (*on_turn)(struct door_place *place, bool is_let_in))
{
    *place = (struct door_place){.door = door, .client = *client, .on_turn = on_turn};
    if (may_enter(door, client)) {
        let_in(door, place);
        return DOOR_LET_IN;
    }
    place->n_before = (uint32_t)count_of_network(&door->waiting, client);
    if (place->n_before >= DOOR_WAITING_OF_NETWORK ||
        (door->n_waiting >= DOOR_WAITING && !make_room(door, place)))
        return DOOR_TURNED_AWAY;
    timer_start(door->timers, &place->timer, DOOR_MS, on_timeout);
    list_add(&door->waiting, &place->link);
    door->n_waiting++;
    return DOOR_WAITS;
}

static void go(struct door_place *place)
{
    struct door *door = place->door;
    struct door_place *next;

    list_remove(&place->link);
    door->n_inside--;
    while ((next = find_next(door)) != NULL) {
        stop_waiting(door, next);
        let_in(door, next);
        next->on_turn(next, true);
    }
}

void door_leave(struct door_place *place)
{
    if (!list_is_linked(&place->link))
        return;
    if (place->is_inside)
        go(place);
    else
        stop_waiting(place->door, place);
}

static void forget(struct timer *timer)
{
    struct door_place *absent = H2O_STRUCT_FROM_MEMBER(struct door_place, timer, timer);

    go(absent);
    free(absent);
}

void door_abandon(struct door_place *place)
{
    struct door_place *absent;

    if (!list_is_linked(&place->link) || !place->is_inside) {
        door_leave(place);
        return;
    }
    absent = heap_zeroed(1, sizeof(*absent));
    *absent = (struct door_place){.door = place->door, .is_inside = true, .client = place->client};
    list_remove(&place->link);
    list_add(&place->door->inside, &absent->link);
    timer_start(place->door->timers, &absent->timer, DOOR_ABSENT_MS, forget);
}
