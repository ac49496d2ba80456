#include "services/gateway/lookup_budget.h"

#define PRICE_US (1000000 / LOOKUP_BUDGET_PER_SECOND)
#define MAX_US   ((int64_t)LOOKUP_BUDGET_MAX * PRICE_US)

/* How much of it is there for whom. */
static const int64_t max_us[] = {
    [STANDING_SUSPECT] = MAX_US / 2,
    [STANDING_STRANGER] = MAX_US / 4 * 3,
    [STANDING_FAMILIAR] = MAX_US,
};

bool lookup_budget_take(struct lookup_budget *budget, enum standing standing, int64_t mono_us)
{
    int64_t earned_us = mono_us - budget->as_of_us;

    budget->as_of_us = mono_us;
    budget->spent_us = budget->spent_us > earned_us ? budget->spent_us - earned_us : 0;
    if (budget->spent_us + PRICE_US > max_us[standing])
        return false;
    budget->spent_us += PRICE_US;
    return true;
}

void lookup_budget_refund(struct lookup_budget *budget)
{
    if (budget->spent_us >= PRICE_US)
        budget->spent_us -= PRICE_US;
}
