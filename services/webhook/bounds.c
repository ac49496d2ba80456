#include "services/webhook/bounds.h"

#include <stdio.h>

#include "common/db/db.h"
#include "webhook_sql.h"

enum { KEPT_MAX = 256 * 1024 * 1024 }; /* 70 bytes for each organization with events left over */

#define NOTHING_SEEN STR("1:1:")

static void forget(struct bounds *bounds)
{
    bounds->claims = bounds->turns = bounds->retries = 0;
    bounds->seen = NOTHING_SEEN;
    bounds->left_over = bounds->left_since = STR("{}");
}

void bounds_init(struct bounds *bounds)
{
    *bounds = (struct bounds){0};
    arena_init(&bounds->kept, KEPT_MAX);
    forget(bounds);
}

void bounds_release(struct bounds *bounds)
{
    arena_release(&bounds->kept);
}

bool bounds_are_known(const struct bounds *bounds)
{
    return bounds->turns > 0 && !str_equal(bounds->seen, NOTHING_SEEN);
}

void bounds_keep_events(struct bounds *bounds, const struct db_rows *rows)
{
    arena_clear(&bounds->kept);
    bounds->seen = arena_str(&bounds->kept, db_value(rows, 0, FAN_OUT_SEEN));
    bounds->left_over = arena_str(&bounds->kept, db_value(rows, 0, FAN_OUT_LEFT_OVER));
    bounds->left_since = arena_str(&bounds->kept, db_value(rows, 0, FAN_OUT_LEFT_SINCE));
}

void bounds_keep_numbers(struct bounds *bounds, const struct db_rows *rows)
{
    const struct str state = db_value(rows, 0, FIND_BOUNDS_STATE);
    const bool is_same = str_equal(state, str_of(bounds->state));

    snprintf(bounds->state, sizeof(bounds->state), "%.*s", STR_ARG(state));
    bounds->claims = db_value_int(rows, 0, FIND_BOUNDS_CLAIMS);
    bounds->turns = db_value_int(rows, 0, FIND_BOUNDS_TURNS);
    bounds->retries = db_value_int(rows, 0, FIND_BOUNDS_RETRIES);
    if (!is_same)
        forget(bounds);
}
