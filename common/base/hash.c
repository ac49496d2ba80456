#include "common/base/hash.h"

#include <string.h>

/* The last steps of splitmix64: each bit of the result depends on each bit of x. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

uint64_t hash_key(const uint8_t key[16], uint64_t seed)
{
    uint64_t word[2];

    memcpy(word, key, sizeof(word));
    return mix(mix(word[0] ^ seed) ^ word[1]);
}
