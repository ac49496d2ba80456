#include "services/gateway/allowance.h"

#define PRICE_US (1000000 / ALLOWANCE_PER_SECOND)
#define MOST_US  ((int64_t)ALLOWANCE_MOST * PRICE_US)

bool allowance_take(struct allowance *allowance, bool suspect, int64_t mono_us)
{
    int64_t earned_us = mono_us - allowance->as_of_us;

    allowance->as_of_us = mono_us;
    allowance->spent_us = allowance->spent_us > earned_us ? allowance->spent_us - earned_us : 0;
    if (allowance->spent_us + PRICE_US > (suspect ? MOST_US / 2 : MOST_US))
        return false;
    allowance->spent_us += PRICE_US;
    return true;
}

void allowance_give_back(struct allowance *allowance)
{
    if (allowance->spent_us >= PRICE_US)
        allowance->spent_us -= PRICE_US;
}
