/*
 * door - how much of the dashboard one session, one organization or one network may have.
 *
 * What     A share is used up by the requests of a session or an organization and grows again with
 *          time. The door is where those stand who bring a password, since hashing one takes long
 *          and few are hashed at once.
 * Owns     shares_new() gives what shares_free() takes back; a share that was entered is to be
 *          left. Who stands at the door belongs to its request, zeroed before its first use.
 * Threads  The loop's.
 */
#ifndef SERVICES_DASHBOARD_DOOR_H
#define SERVICES_DASHBOARD_DOOR_H

#include <h2o.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/base/str.h"
#include "common/http/throttle.h"

/* -- shares ---------------------------------------------------------------------------------- */

/* `per_second` on average, `burst` at once after a pause, and `at_once` that are not done with. */
struct share_limit {
    uint32_t per_second, burst, at_once;
};

struct share {
    uint8_t whose[16];
    int64_t spent_us; /* of the time in which requests are earned */
    int64_t as_of_us; /* monotonic; 0: never used */
    uint32_t under_way;
    bool is_known; /* by the caller, who sets it: it is in use */
};

/* A share that is left is remembered in a table of fixed size, in which those unused for longest
   make room. Those in use stay, so there is no room for another when all places are in use. */
struct shares;

/* `seed` is random, so that clients cannot aim at an entry. */
struct shares *shares_new(const struct share_limit *limit, uint64_t seed);
void shares_free(struct shares *shares);

/* One more request of the owner with the hash or id `whose`, at least 16 bytes. NULL: that would be
   too much, for *wait_s seconds at least. */
struct share *shares_enter(struct shares *shares, struct str whose, int64_t mono_us,
                           unsigned *wait_s);
/* The request is done with. NULL is fine. */
void share_leave(struct share *share);

/* -- the door -------------------------------------------------------------------------------- */

/* DOOR_AT_ONCE are let in, DOOR_OF_NETWORK of one network (a /24, an IPv6 /48). Of those who wait,
   the next one is from the network with the fewest passwords within this minute: a first
   attempt never waits for repeated attempts, from however many addresses. DOOR_WAITING wait at
   most, for DOOR_MS; when the queue is full, a new attempt replaces one of a network with more
   attempts and more waiting. All others are asked to try again later. */
enum {
    DOOR_AT_ONCE = 4,
    DOOR_OF_NETWORK = 2,
    DOOR_WAITING = 256,
    DOOR_WAITING_OF_NETWORK = 32,
    DOOR_MS = 2500,
    DOOR_ABSENT_MS = 1000,
};

struct door {
    h2o_linklist_t inside, waiting; /* waiting: in the order in which they came */
    size_t n_inside, n_waiting;
    struct throttle *tries; /* passwords by network and minute */
    h2o_loop_t *loop;
    h2o_timeout_t timeout, absence;
};

struct door_place {
    h2o_linklist_t link;
    struct door *door;
    bool is_inside;
    uint32_t n_before; /* of its network that waited when it came */
    struct address client;
    h2o_timeout_entry_t timer;
    void (*on_turn)(struct door_place *place, bool is_let_in);
};

void door_init(struct door *door, h2o_loop_t *loop, uint64_t seed);
/* What becomes of a newcomer. */
enum door_turn { DOOR_LET_IN, DOOR_WAITS, DOOR_TURNED_AWAY };

/* DOOR_WAITS: on_turn tells later whether it is let in or turned away. */
MUST_CHECK enum door_turn door_come(struct door *door, struct door_place *place,
                                    const struct address *client,
                                    void (*on_turn)(struct door_place *place, bool is_let_in));
/* An attempt has finished, or no longer waits; also one that never came. */
void door_leave(struct door_place *place);
/* The same of one for whom something may still be hashed: the place is taken for a while longer. */
void door_abandon(struct door_place *place);

#endif
