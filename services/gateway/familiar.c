#include "services/gateway/familiar.h"

#include "common/base/ip.h"
#include "common/base/recent_table.h"

#define SETS      1024
#define WAYS      4
#define LATELY_US (3600LL * 1000000)

struct recent_table *familiar_new(uint64_t seed)
{
    return recent_table_new(SETS, WAYS, sizeof(struct recent), seed);
}

static void key_of(const struct address *address, uint8_t key[16])
{
    const struct network wide = network_wide(address);

    network_key(&wide, key);
}

void familiar_note(struct recent_table *familiar, const struct address *address, int64_t mono_us)
{
    struct recent *entry;
    uint8_t key[16];

    key_of(address, key);
    entry = recent_table_add(familiar, key);
    entry->rank = mono_us;
}

bool familiar_holds(const struct recent_table *familiar, const struct address *address,
                    int64_t mono_us)
{
    const struct recent *entry;
    uint8_t key[16];

    key_of(address, key);
    entry = recent_table_find(familiar, key);
    return entry != NULL && mono_us - entry->rank < LATELY_US;
}
