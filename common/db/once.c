#include "common/db/once.h"

#include "common/base/clock.h"

enum status db_once(struct db *db, int statement, const struct params *params, int64_t timeout_us)
{
    db_open_batch(db, clock_us() + timeout_us);
    db_add(db, statement, params->at, params->n);
    return db_commit(db);
}
