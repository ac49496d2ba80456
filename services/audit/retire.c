#include "services/audit/retire.h"

#include <inttypes.h>

#include "audit_sql.h"
#include "common/base/clock.h"
#include "common/base/log.h"

enum { HOUR_S = 3600, MINUTE_S = 60, PATIENCE_S = 30, ROWS_MOST = 1000 };

/* The statement's one value, null as STR_NONE; in the arena. */
static enum status ask(struct db *db, int statement, int64_t parameter, struct arena *arena,
                       struct str *value)
{
    const db_param params[] = {str_of(arena_printf(arena, "%" PRId64, parameter))};
    enum status st;
    size_t i;

    db_open_batch(db, clock_us() + PATIENCE_S * 1000000LL);
    i = db_add(db, statement, params, 1);
    st = db_run(db);
    if (st != ST_OK)
        return st;
    *value = arena_str(arena, db_value(db_result(db, i), 0, 0));
    return db_commit(db);
}

void retire_step(struct retire *retire, struct db *db, struct arena *arena)
{
    struct str month = STR_NONE, blocks = STR_NONE, changes = STR_NONE;
    int64_t again_s = HOUR_S;
    enum status st;

    if (retire->months == 0 || clock_mono_us() < retire->due_us)
        return;
    st = ask(db, SQL_DROP_OLDEST, retire->months, arena, &month);
    if (st == ST_OK)
        st = ask(db, SQL_DROP_BLOCKS, ROWS_MOST, arena, &blocks);
    if (st == ST_OK)
        st = ask(db, SQL_DROP_CHANGES, ROWS_MOST, arena, &changes);
    if (month.p != NULL)
        LOG(LOG_WARNING, "dropped a month of the trail", log_slice("partition", month));
    if (st != ST_OK) {
        LOG(LOG_WARNING, "could not drop what was kept long enough, trying again in a minute",
            log_str("status", status_name(st)));
        again_s = MINUTE_S;
    } else if (month.p != NULL || !str_equal(blocks, STR("0")) || !str_equal(changes, STR("0"))) {
        again_s = 0;
    }
    retire->due_us = clock_mono_us() + again_s * 1000000;
}
