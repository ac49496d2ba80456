#include "common/http/throttle.h"

#include <stdlib.h>

#include "common/base/arena.h"
#include "common/base/log.h"
#include "common/base/str.h"

#define SETS      8192 /* a power of two */
#define WAYS      4
#define MINUTE_US 60000000

struct entry {
    struct network network;
    uint32_t failures;
    int64_t minute;
};

struct throttle {
    uint32_t max;
    uint64_t seed;
    struct entry at[SETS][WAYS];
};

struct throttle *throttle_new(uint32_t max, uint64_t seed)
{
    struct throttle *throttle = heap_zeroed(1, sizeof(*throttle));

    throttle->max = max;
    throttle->seed = seed;
    return throttle;
}

void throttle_free(struct throttle *throttle)
{
    free(throttle);
}

static size_t set_of(const struct throttle *throttle, const struct network *network)
{
    return (size_t)(hash_key(network->base.b, throttle->seed ^ network->bits) % SETS);
}

static int64_t minute_of(int64_t now_us)
{
    return now_us / MINUTE_US + 1; /* 0 marks an entry that was never used */
}

static uint64_t max_of_network(const struct throttle *throttle)
{
    return (uint64_t)throttle->max * THROTTLE_WIDER;
}

/* Counts one failure; returns how many there are now. */
static uint32_t count(struct throttle *throttle, const struct network *network, int64_t minute)
{
    struct entry *set = throttle->at[set_of(throttle, network)];
    struct entry *chosen = &set[0];

    for (size_t i = 0; i < WAYS; i++) {
        if (set[i].minute != minute)
            set[i].failures = 0;
        if (set[i].minute == minute && network_equal(&set[i].network, network))
            return set[i].failures < UINT32_MAX ? ++set[i].failures : UINT32_MAX;
        if (set[i].failures < chosen->failures)
            chosen = &set[i];
    }
    *chosen = (struct entry){.network = *network, .minute = minute, .failures = 1};
    return 1;
}

static uint32_t failures_of(const struct throttle *throttle, const struct network *network,
                            int64_t minute)
{
    const struct entry *set = throttle->at[set_of(throttle, network)];

    for (size_t i = 0; i < WAYS; i++)
        if (set[i].minute == minute && network_equal(&set[i].network, network))
            return set[i].failures;
    return 0;
}

bool throttle_note(struct throttle *throttle, const struct address *address, int64_t now_us)
{
    const struct network near = network_near(address), wide = network_wide(address);
    uint32_t of_near = count(throttle, &near, minute_of(now_us));
    uint32_t of_wide = count(throttle, &wide, minute_of(now_us));

    return of_near == throttle->max || of_wide == max_of_network(throttle);
}

uint32_t throttle_count(const struct throttle *throttle, const struct address *address,
                        int64_t now_us)
{
    const struct network wide = network_wide(address);

    return failures_of(throttle, &wide, minute_of(now_us));
}

bool throttle_suspects(const struct throttle *throttle, const struct address *address,
                       int64_t now_us)
{
    const struct network near = network_near(address), wide = network_wide(address);

    return failures_of(throttle, &near, minute_of(now_us)) > 0 ||
           failures_of(throttle, &wide, minute_of(now_us)) >= THROTTLE_WIDER;
}

unsigned throttle_wait(const struct throttle *throttle, const struct address *address,
                       int64_t now_us)
{
    const struct network near = network_near(address), wide = network_wide(address);
    int64_t minute = minute_of(now_us);

    if (failures_of(throttle, &near, minute) < throttle->max &&
        failures_of(throttle, &wide, minute) < max_of_network(throttle))
        return 0;
    return (unsigned)((minute * MINUTE_US - now_us + 999999) / 1000000);
}
