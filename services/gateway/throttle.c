#include "services/gateway/throttle.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"

#define SETS      4096 /* a power of two */
#define WAYS      4
#define MINUTE_US 60000000

struct entry {
    struct address address;
    int64_t minute;
    uint32_t failures;
};

struct throttle {
    uint32_t most;
    uint64_t seed;
    struct entry at[SETS][WAYS];
};

struct throttle *throttle_new(uint32_t most, uint64_t seed)
{
    struct throttle *throttle = calloc(1, sizeof(*throttle));

    must(throttle != NULL);
    throttle->most = most;
    throttle->seed = seed;
    return throttle;
}

void throttle_free(struct throttle *throttle)
{
    free(throttle);
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

static size_t set_of(const struct throttle *throttle, const struct address *address)
{
    uint64_t half[2];

    memcpy(half, address->b, sizeof(half));
    return (size_t)(mix(mix(half[0] ^ throttle->seed) ^ half[1]) % SETS);
}

bool throttle_note(struct throttle *throttle, const struct address *address, int64_t now_us)
{
    struct entry *set = throttle->at[set_of(throttle, address)];
    struct entry *chosen = &set[0];
    int64_t minute = now_us / MINUTE_US + 1; /* 0 marks an entry that was never used */

    for (size_t i = 0; i < WAYS; i++) {
        if (set[i].minute != minute)
            set[i].failures = 0;
        if (set[i].minute == minute && address_equal(&set[i].address, address)) {
            set[i].failures++;
            return set[i].failures == throttle->most;
        }
        if (set[i].failures < chosen->failures)
            chosen = &set[i];
    }
    *chosen = (struct entry){.address = *address, .minute = minute, .failures = 1};
    return throttle->most == 1;
}

static uint32_t failures_of(const struct throttle *throttle, const struct address *address,
                            int64_t minute)
{
    const struct entry *set = throttle->at[set_of(throttle, address)];

    for (size_t i = 0; i < WAYS; i++)
        if (set[i].minute == minute && address_equal(&set[i].address, address))
            return set[i].failures;
    return 0;
}

bool throttle_suspects(const struct throttle *throttle, const struct address *address,
                       int64_t now_us)
{
    return failures_of(throttle, address, now_us / MINUTE_US + 1) > 0;
}

unsigned throttle_wait(const struct throttle *throttle, const struct address *address,
                       int64_t now_us)
{
    int64_t minute = now_us / MINUTE_US + 1;

    if (failures_of(throttle, address, minute) < throttle->most)
        return 0;
    return (unsigned)((minute * MINUTE_US - now_us + 999999) / 1000000);
}
