#include "services/dashboard/door.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/str.h"

/* -- shares ---------------------------------------------------------------------------------- */

#define SETS      1024 /* a power of two */
#define WAYS      8
#define SECOND_US 1000000

struct shares {
    struct share_limit limit;
    uint64_t seed;
    struct share at[SETS][WAYS];
};

struct shares *shares_new(const struct share_limit *limit, uint64_t seed)
{
    struct shares *shares = heap_zeroed(1, sizeof(*shares));

    must(limit->per_second > 0 && limit->burst > 0 && limit->at_once > 0);
    shares->limit = *limit;
    shares->seed = seed;
    return shares;
}

void shares_free(struct shares *shares)
{
    free(shares);
}

static struct share *set_of(struct shares *shares, const uint8_t whose[16])
{
    return shares->at[hash_key(whose, shares->seed) % SETS];
}

/* The owner's place, or one freed for it; NULL: all are in use. */
static struct share *find(struct shares *shares, const uint8_t whose[16])
{
    struct share *set = set_of(shares, whose), *chosen = NULL;

    for (size_t i = 0; i < WAYS; i++) {
        if (set[i].as_of_us > 0 && memcmp(set[i].whose, whose, sizeof(set[i].whose)) == 0)
            return &set[i];
        if (set[i].under_way == 0 && (chosen == NULL || set[i].as_of_us < chosen->as_of_us))
            chosen = &set[i];
    }
    if (chosen != NULL) {
        *chosen = (struct share){.as_of_us = 0};
        memcpy(chosen->whose, whose, sizeof(chosen->whose));
    }
    return chosen;
}

/* Takes one request. Seconds until one is earned; 0: it was taken. */
static unsigned earn(struct share *share, const struct share_limit *limit, int64_t mono_us)
{
    const int64_t price_us = SECOND_US / limit->per_second, max_us = price_us * limit->burst;
    int64_t earned_us = mono_us - share->as_of_us, lacking_us;

    /* If the caller's time is earlier than the last one, nothing has been earned since. */
    if (earned_us > 0) {
        share->as_of_us = mono_us;
        share->spent_us = share->spent_us > earned_us ? share->spent_us - earned_us : 0;
    }
    lacking_us = share->spent_us + price_us - max_us;
    if (lacking_us > 0)
        return (unsigned)((lacking_us + SECOND_US - 1) / SECOND_US);
    share->spent_us += price_us;
    return 0;
}

struct share *shares_enter(struct shares *shares, struct str whose, int64_t mono_us,
                           unsigned *wait_s)
{
    struct share *share;

    must(whose.n >= sizeof(share->whose));
    share = find(shares, (const uint8_t *)whose.p);
    *wait_s = 1;
    if (share == NULL || share->under_way >= shares->limit.at_once)
        return NULL;
    *wait_s = earn(share, &shares->limit, mono_us);
    if (*wait_s > 0)
        return NULL;
    share->under_way++;
    return share;
}

void share_leave(struct share *share)
{
    if (share == NULL)
        return;
    must(share->under_way > 0);
    share->under_way--;
}

/* -- the door -------------------------------------------------------------------------------- */

void door_init(struct door *door, h2o_loop_t *loop, uint64_t seed)
{
    *door = (struct door){.loop = loop, .tries = throttle_new(UINT32_MAX, seed)};
    h2o_linklist_init_anchor(&door->inside);
    h2o_linklist_init_anchor(&door->waiting);
    h2o_timeout_init(loop, &door->timeout, DOOR_MS);
    h2o_timeout_init(loop, &door->absence, DOOR_ABSENT_MS);
}

static struct door_place *place_at(h2o_linklist_t *node)
{
    return H2O_STRUCT_FROM_MEMBER(struct door_place, link, node);
}

static size_t count_of_network(h2o_linklist_t *list, const struct address *client)
{
    const struct network wide = network_wide(client);
    size_t n = 0;

    for (h2o_linklist_t *node = list->next; node != list; node = node->next)
        n += network_holds(&wide, &place_at(node)->client);
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
    h2o_linklist_insert(&door->inside, &place->link);
}

static void stop_waiting(struct door *door, struct door_place *place)
{
    h2o_timeout_unlink(&place->timer);
    h2o_linklist_unlink(&place->link);
    door->n_waiting--;
}

/* NULL: nobody who waits may enter. */
static struct door_place *find_next(struct door *door)
{
    struct door_place *next = NULL;
    uint32_t fewest = UINT32_MAX;

    for (h2o_linklist_t *node = door->waiting.next; node != &door->waiting; node = node->next) {
        struct door_place *place = place_at(node);
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

static void on_timeout(h2o_timeout_entry_t *timer)
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
    struct door_place *heaviest = NULL;
    uint32_t max = weight_of(door, newcomer) + 1;

    for (h2o_linklist_t *node = door->waiting.next; node != &door->waiting; node = node->next) {
        const uint32_t weight = weight_of(door, place_at(node));

        if (weight >= max) {
            max = weight;
            heaviest = place_at(node);
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
    place->timer.cb = on_timeout;
    h2o_timeout_link(door->loop, &door->timeout, &place->timer);
    h2o_linklist_insert(&door->waiting, &place->link);
    door->n_waiting++;
    return DOOR_WAITS;
}

static void go(struct door_place *place)
{
    struct door *door = place->door;
    struct door_place *next;

    h2o_linklist_unlink(&place->link);
    door->n_inside--;
    while ((next = find_next(door)) != NULL) {
        stop_waiting(door, next);
        let_in(door, next);
        next->on_turn(next, true);
    }
}

void door_leave(struct door_place *place)
{
    if (!h2o_linklist_is_linked(&place->link))
        return;
    if (place->is_inside)
        go(place);
    else
        stop_waiting(place->door, place);
}

static void forget(h2o_timeout_entry_t *timer)
{
    struct door_place *absent = H2O_STRUCT_FROM_MEMBER(struct door_place, timer, timer);

    h2o_timeout_unlink(timer);
    go(absent);
    free(absent);
}

void door_abandon(struct door_place *place)
{
    struct door_place *absent;

    if (!h2o_linklist_is_linked(&place->link) || !place->is_inside) {
        door_leave(place);
        return;
    }
    absent = heap_zeroed(1, sizeof(*absent));
    *absent = (struct door_place){
        .door = place->door, .is_inside = true, .client = place->client, .timer = {.cb = forget}};
    h2o_linklist_unlink(&place->link);
    h2o_linklist_insert(&place->door->inside, &absent->link);
    h2o_timeout_link(place->door->loop, &place->door->absence, &absent->timer);
}
