#include "services/webhook/bounds.h"

#include <stdio.h>

#include "common/db/db.h"
#include "webhook_sql.h"

enum { KEPT_MAX = 16 * 1024 * 1024 }; /* 70 bytes for each organization with events left over */

void bounds_init(struct bounds *bounds)
{
    *bounds = (struct bounds){0};
    arena_init(&bounds->kept, KEPT_MAX);
    bounds_forget(bounds);
}

void bounds_release(struct bounds *bounds)
{
    arena_release(&bounds->kept);
}

void bounds_forget(struct bounds *bounds)
{
    bounds->claims = bounds->turns = bounds->retries = 0;
    bounds->seen = STR("1:1:");
    bounds->left_over = bounds->left_since = STR("{}");
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
    const struct str moving = db_value(rows, 0, FIND_BOUNDS_MOVING);
    const bool is_same = str_equal(moving, str_of(bounds->moving));

    snprintf(bounds->moving, sizeof(bounds->moving), "%.*s", STR_ARG(moving));
    bounds->claims = db_value_int(rows, 0, FIND_BOUNDS_CLAIMS);
    bounds->turns = db_value_int(rows, 0, FIND_BOUNDS_TURNS);
    bounds->retries = db_value_int(rows, 0, FIND_BOUNDS_RETRIES);
    if (!is_same)
        bounds_forget(bounds);
}
