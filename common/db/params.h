/*
 * params - the parameters of one statement, appended in the order of their numbers.
 *
 * What     All zeros is an empty list.
 * Owns     Values stay where they are; what has to be written out first lives in the arena.
 * Threads  One thread at a time.
 */
#ifndef COMMON_DB_PARAMS_H
#define COMMON_DB_PARAMS_H

#include "common/base/uuid.h"
#include "common/db/db.h"

#define PARAMS_MAX 8

struct params {
    db_param at[PARAMS_MAX];
    size_t n;
};

void params_add(struct params *params, struct str value); /* STR_NONE is SQL NULL */
void params_add_bool(struct params *params, bool value);
void params_add_int(struct params *params, struct arena *arena, int64_t value);
void params_add_id(struct params *params, struct arena *arena, const struct uuid *id);

#endif
