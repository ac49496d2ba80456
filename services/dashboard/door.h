/*
 * door - limits how much of the dashboard one session, one organization or one network may use.
 *
 * What     Requests use up the share of their session or organization, which refills with time.
 *          Requests with a password must pass the door, since hashing a password takes long and
 *          only a few are hashed at once.
 * Owns     Free shares_new() with shares_free(); leave every share that was entered. A place at the
 *          door belongs to its request, which must zero it before its first use.
 * Threads  The loop's.
 */
#ifndef SERVICES_DASHBOARD_DOOR_H
#define SERVICES_DASHBOARD_DOOR_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/list.h"
#include "common/base/rate.h"
#include "common/base/recent_table.h"
#include "common/base/status.h"
#include "common/base/str.h"
#include "common/http/throttle.h"
#include "common/http/timer.h"

/* -- shares ---------------------------------------------------------------------------------- */

/* `per_second` on average, `burst` at once after a pause, and `at_once` in flight. */
struct share_limit {
    uint32_t per_second, burst, at_once;
};

struct share {
    struct recent recent; /* by a session or an organization */
    struct rate rate;
    uint32_t under_way;
    bool is_known; /* set by the caller: the session is valid */
};

/* Shares that nobody is in stay in a table of fixed size, which evicts the one unused for longest.
   Shares in use are never evicted, so a new one is refused if its whole set is in use. */
struct shares;

/* `seed` is random, so that clients cannot target an entry. */
struct shares *shares_new(const struct share_limit *limit, uint64_t seed);
void shares_free(struct shares *shares);

/* Enters one more request of `whose`, a hash or id of at least 16 bytes. NULL: the share is used
   up; try again in *wait_s seconds at the earliest. */
struct share *shares_enter(struct shares *shares, struct str whose, int64_t mono_us,
                           unsigned *wait_s);
/* The request has ended. NULL is fine. */
void share_leave(struct share *share);

/* -- the door -------------------------------------------------------------------------------- */

/* DOOR_AT_ONCE are let in, DOOR_OF_NETWORK of one network (a /24, an IPv6 /48). The next one let in
   is from the network with the fewest passwords within this minute: a first attempt never waits for
   repeated attempts, from however many addresses. At most DOOR_WAITING wait, for up to DOOR_MS;
   when the queue is full, a new attempt replaces one of a network with more attempts and more
   waiting. All others are told to try again later. */
enum {
    DOOR_AT_ONCE = 4,
    DOOR_OF_NETWORK = 2,
    DOOR_WAITING = 256,
    DOOR_WAITING_OF_NETWORK = 32,
    DOOR_MS = 2500,
    DOOR_ABSENT_MS = 1000,
};

struct door {
    struct list inside, waiting; /* waiting: in the order in which they came */
    size_t n_inside, n_waiting;
    struct throttle *tries; /* passwords per network and minute */
    struct timers *timers;
};

struct door_place {
    struct list link;
    struct door *door;
    bool is_inside;
    uint32_t n_before; /* of its network that were waiting when it arrived */
    struct address client;
    struct timer timer;
    void (*on_turn)(struct door_place *place, bool is_let_in);
};

void door_init(struct door *door, struct timers *timers, uint64_t seed);
/* What happens to a new attempt. */
enum door_turn { DOOR_LET_IN, DOOR_WAITS, DOOR_TURNED_AWAY };

/* DOOR_WAITS: on_turn reports later whether it is let in or turned away. */
MUST_CHECK enum door_turn door_come(struct door *door, struct door_place *place,
                                    const struct address *client,
                                    void (*on_turn)(struct door_place *place, bool is_let_in));
/* An attempt has finished or no longer waits; a no-op if it never came to the door. */
void door_leave(struct door_place *place);
/* The same when a password may still be being hashed: the place stays taken for DOOR_ABSENT_MS. */
void door_abandon(struct door_place *place);

#endif
