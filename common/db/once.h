/*
 * once - one statement in a separate transaction, as upkeep needs it.
 *
 * Threads  The db's.
 */
#ifndef COMMON_DB_ONCE_H
#define COMMON_DB_ONCE_H

#include "common/db/params.h"

/* The link must be up. Its rows are db_result(db, 0), until the next batch. */
MUST_CHECK enum status db_once(struct db *db, int statement, const struct params *params,
                               int64_t timeout_us);

#endif
