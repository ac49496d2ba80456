#include "services/conversation/lock_order.h"

#include <stddef.h>

/* FNV-1a: no more is asked of it than to be the same everywhere. */
static uint64_t mix(uint64_t hash, const void *data, size_t n)
{
    const uint8_t *const bytes = data;

    for (size_t i = 0; i < n; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

uint64_t lock_order(const struct uuid *organization, struct str key)
{
    uint64_t hash = mix(UINT64_C(0xcbf29ce484222325), organization->b, sizeof(organization->b));

    hash = mix(hash, key.p, key.n);
    return hash != 0 ? hash : 1;
}
