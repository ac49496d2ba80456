#include "services/gateway/familiar.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/log.h"

#define SETS      1024 /* a power of two */
#define WAYS      4
#define LINE      64 /* bytes in a line of a processor's cache */
#define LATELY_US (3600LL * 1000000)

struct familiar_entry {
    uint64_t network; /* 0: never used */
    int64_t noted_us;
};

/* Looked at for each request. */
_Static_assert(sizeof(struct familiar_entry[WAYS]) == LINE, "a set is a line");

struct familiar {
    _Alignas(LINE) struct familiar_entry at[SETS][WAYS];
    uint64_t seed;
};

struct familiar *familiar_new(uint64_t seed)
{
    struct familiar *familiar = aligned_alloc(LINE, sizeof(*familiar));

    must(familiar != NULL);
    memset(familiar, 0, sizeof(*familiar));
    familiar->seed = seed;
    return familiar;
}

void familiar_free(struct familiar *familiar)
{
    free(familiar);
}

/* Of a network's 16 bytes the first 6 say which /48 it is; a /24 differs in the 3 behind ffff. */
static uint64_t number_of(const struct address *address)
{
    const struct network wide = network_wide(address);
    uint64_t first = 0, last = 0;

    memcpy(&first, wide.base.b, 6);
    memcpy(&last, wide.base.b + 12, 3);
    return first | last << 24 | (uint64_t)wide.bits << 56;
}

static size_t set_of(const struct familiar *familiar, uint64_t network)
{
    return (size_t)(hash_words(network, 0, familiar->seed) % SETS);
}

void familiar_note(struct familiar *familiar, const struct address *address, int64_t mono_us)
{
    uint64_t network = number_of(address);
    struct familiar_entry *set = familiar->at[set_of(familiar, network)];
    struct familiar_entry *chosen = &set[0];

    for (size_t i = 0; i < WAYS; i++) {
        if (set[i].network == network) {
            set[i].noted_us = mono_us;
            return;
        }
        if (set[i].noted_us < chosen->noted_us)
            chosen = &set[i];
    }
    *chosen = (struct familiar_entry){.network = network, .noted_us = mono_us};
}

bool familiar_holds(const struct familiar *familiar, const struct address *address, int64_t mono_us)
{
    uint64_t network = number_of(address);
    const struct familiar_entry *set = familiar->at[set_of(familiar, network)];

    for (size_t i = 0; i < WAYS; i++)
        if (set[i].network == network)
            return mono_us - set[i].noted_us < LATELY_US;
    return false;
}
