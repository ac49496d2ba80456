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

#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/str.h"

struct db_rows;

struct bounds {
    int64_t claims, turns, retries;
    struct str seen, left_over, left_since;
    char moving[2 * 32 + 1]; /* describes the organizations that move between cells */
    struct arena kept;       /* seen, left_over and left_since */
};

void bounds_init(struct bounds *bounds);
void bounds_release(struct bounds *bounds);

/* The next transaction looks at everything: after a start, and after a transaction of which it is not
   known what it did. */
void bounds_forget(struct bounds *bounds);

/* `rows` are those of fan_out.sql. */
void bounds_keep_events(struct bounds *bounds, const struct db_rows *rows);
/* `rows` are those of find_bounds.sql. Forgets if other organizations than before are moving: their
   rows may have any numbers. */
void bounds_keep_numbers(struct bounds *bounds, const struct db_rows *rows);

#endif
