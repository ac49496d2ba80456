#include "services/dashboard/share.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/log.h"

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
    struct shares *shares = calloc(1, sizeof(*shares));

    must(shares != NULL && limit->per_second > 0 && limit->burst > 0 && limit->at_once > 0);
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
    uint64_t half[2];

    memcpy(half, whose, sizeof(half));
    return shares->at[hash_words(half[0], half[1], shares->seed) % SETS];
}

/* Its place, or that of the one which makes room; NULL: all are in use. */
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

/* Seconds until the next request is earned; 0: it is. */
static unsigned earn(struct share *share, const struct share_limit *limit, int64_t mono_us)
{
    const int64_t price_us = SECOND_US / limit->per_second, max_us = price_us * limit->burst;
    int64_t earned_us = mono_us - share->as_of_us, lacking_us;

    /* A caller whose time is earlier than the last one's has earned nothing since. */
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
