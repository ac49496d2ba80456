#include "services/migrate/plan.h"

#include <stdbool.h>
#include <string.h>

enum plan_state plan_state(const struct migration *migration, const struct applied *applied,
                           size_t n)
{
    bool later_is_applied = false;

    for (size_t i = 0; i < n; i++) {
        if (strcmp(applied[i].service, migration->service) != 0)
            continue;
        if (applied[i].number > migration->number)
            later_is_applied = true;
        if (applied[i].number == migration->number)
            return strcmp(applied[i].checksum, migration->checksum) == 0 ? PLAN_APPLIED
                                                                         : PLAN_CHANGED;
    }
    return later_is_applied ? PLAN_LATE : PLAN_PENDING;
}

const char *plan_state_name(enum plan_state state)
{
    static const char *const names[] = {
        [PLAN_APPLIED] = "applied",
        [PLAN_PENDING] = "pending",
        [PLAN_CHANGED] = "changed",
        [PLAN_LATE] = "late",
    };

    return names[state];
}
