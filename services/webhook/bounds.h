/*
 * bounds - from where the sender's next transaction looks, so that it meets nothing that is dead.
 *
 * What     The lowest numbers that live (find_bounds.sql), and which events are new or were left
 *          over (fan_out.sql): results of one transaction that are parameters of the next one.
 * Owns     bounds_release() frees what the others keep.
 * Threads  One at a time.
 * Fails    Never.
 */
#ifndef SERVICES_WEBHOOK_BOUNDS_H
#define SERVICES_WEBHOOK_BOUNDS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/str.h"

struct db_rows;

struct bounds {
    int64_t claims, turns, retries;
    struct str seen, left_over, left_since;
    /* Describes the run of the server, and the organizations that move between cells. */
    char state[32 + 1];
    struct arena kept; /* seen, left_over and left_since */
};

void bounds_init(struct bounds *bounds);
void bounds_release(struct bounds *bounds);

/* False: the next transaction looks at everything, which may take long. */
bool bounds_are_known(const struct bounds *bounds);

/* Results of a transaction stay valid when later ones fail: what these may have written has higher
   numbers. */

/* `rows` are those of fan_out.sql. */
void bounds_keep_events(struct bounds *bounds, const struct db_rows *rows);
/* `rows` are those of find_bounds.sql. Forgets all if the state has changed: the next transaction looks
   at everything. */
void bounds_keep_numbers(struct bounds *bounds, const struct db_rows *rows);

#endif
