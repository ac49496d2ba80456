#include "services/audit/retire.h"

#include "audit_sql.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/db/once.h"

enum { HOUR_S = 3600, MINUTE_S = 60, PATIENCE_US = 30 * 1000 * 1000, ROWS_MOST = 1000 };

static enum status ask(struct db *db, int statement, int64_t parameter, struct arena *arena)
{
    struct params params = {0};

    params_add_int(&params, arena, parameter);
    return db_once(db, statement, &params, PATIENCE_US);
}

static enum status drop_month(struct db *db, int64_t months, struct arena *arena, bool *has_more)
{
    enum status st = ask(db, SQL_DROP_OLDEST, months, arena);
    struct str partition = st == ST_OK ? db_value(db_result(db, 0), 0, 0) : STR_NONE;

    if (partition.p == NULL)
        return st;
    LOG(LOG_WARNING, "dropped a month of the trail", log_slice("partition", partition));
    *has_more = true;
    return ST_OK;
}

static enum status drop_rows(struct db *db, int statement, struct arena *arena, bool *has_more)
{
    enum status st = ask(db, statement, ROWS_MOST, arena);

    *has_more |= st == ST_OK && db_value_int(db_result(db, 0), 0, 0) > 0;
    return st;
}

void retire_step(struct retire *retire, struct db *db, struct arena *arena)
{
    bool has_more = false;
    int64_t again_s = HOUR_S;
    enum status st;

    if (retire->months == 0 || clock_mono_us() < retire->due_us)
        return;
    st = drop_month(db, retire->months, arena, &has_more);
    if (st == ST_OK)
        st = drop_rows(db, SQL_DROP_BLOCKS, arena, &has_more);
    if (st == ST_OK)
        st = drop_rows(db, SQL_DROP_CHANGES, arena, &has_more);
    if (st != ST_OK) {
        LOG(LOG_WARNING, "could not drop what was kept long enough, trying again in a minute",
            log_str("status", status_name(st)));
        again_s = MINUTE_S;
    } else if (has_more) {
        again_s = 0;
    }
    retire->due_us = clock_mono_us() + again_s * 1000000;
}
