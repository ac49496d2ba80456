/*
 * slots - numbers for things that are awaited, such that a late answer never finds a stranger.
 *
 * What     A token names a place in a table of fixed size and the place's generation, which moves
 *          with every use. A token that was given back is never valid again (a place would have to
 *          be used 2^48 times).
 * Owns     slots_init() allocates, slots_release() frees. What stands at a place is the caller's,
 *          in an array of its own.
 * Threads  One.
 */
#ifndef COMMON_EDGE_SLOTS_H
#define COMMON_EDGE_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SLOTS_MOST 65535

struct slots {
    struct slot *at;
    size_t n, used;
    uint32_t free_first;
};

void slots_init(struct slots *slots, size_t n);
void slots_release(struct slots *slots);

/* False when the table is full. */
bool slots_take(struct slots *slots, uint64_t *token);
/* False and no effect when the token is not, or no longer, valid. */
bool slots_give_back(struct slots *slots, uint64_t token);
/* The place of a token that is or was valid. */
size_t slots_place(uint64_t token);
/* Writes the valid tokens, slots->used of them. */
void slots_list(const struct slots *slots, uint64_t *tokens);

#endif
