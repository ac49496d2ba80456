#include "common/http/throttle.h"

#include <stdlib.h>

#include "common/base/arena.h"
#include "common/base/recent_table.h"

#define SETS      8192
#define WAYS      4
#define MINUTE_US 60000000

struct throttle {
    uint32_t max;
    /* An entry's rank is its minute and, in the lower half, its failures: those of earlier minutes
       are replaced first, and then those with the fewest failures. */
    struct recent_table *table;
};

struct throttle *throttle_new(uint32_t max, uint64_t seed)
{
    struct throttle *throttle = heap_zeroed(1, sizeof(*throttle));

    throttle->max = max;
    throttle->table = recent_table_new(SETS, WAYS, sizeof(struct recent), seed);
    return throttle;
}

void throttle_free(struct throttle *throttle)
{
    if (throttle != NULL)
        recent_table_free(throttle->table);
    free(throttle);
}

static int64_t minute_of(int64_t now_us)
{
    return now_us / MINUTE_US + 1; /* a rank of 0 is no entry's */
}

static uint64_t max_of_network(const struct throttle *throttle)
{
    return (uint64_t)throttle->max * THROTTLE_WIDER;
}

/* NULL: it has not failed. */
static uint32_t failures_in(const struct recent *entry, int64_t minute)
{
    return entry != NULL && entry->rank >> 32 == minute ? (uint32_t)entry->rank : 0;
}

/* Counts one failure; returns how many there are now. */
static uint32_t count(struct throttle *throttle, const struct network *network, int64_t minute)
{
    struct recent *entry;
    uint32_t failures;
    uint8_t key[16];

    network_key(network, key);
    entry = recent_table_add(throttle->table, key);
    failures = failures_in(entry, minute);
    failures += failures < UINT32_MAX;
    entry->rank = minute << 32 | failures;
    return failures;
}

static uint32_t failures_of(const struct throttle *throttle, const struct network *network,
                            int64_t minute)
{
    uint8_t key[16];

    network_key(network, key);
    return failures_in(recent_table_find(throttle->table, key), minute);
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
