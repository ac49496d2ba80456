/*
 * handles - handles with a generation: a late reply never matches a newer request.
 *
 * What     A handle consists of an index into a table of fixed size and of the generation of the
 *          entry there, which changes with every use. A handle that was closed is never valid again
 *          (an entry would have to be used 2^48 times).
 * Owns     handles_init() allocates, handles_release() frees. What a handle stands for is the
 *          caller's, in an array by index.
 * Threads  One.
 */
#ifndef COMMON_EDGE_HANDLES_H
#define COMMON_EDGE_HANDLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HANDLES_MAX 65535

struct handles {
    struct handle_entry *at;
    size_t n, used;
    uint32_t free_first;
};

void handles_init(struct handles *handles, size_t n);
void handles_release(struct handles *handles);

/* False when the table is full. */
bool handles_open(struct handles *handles, uint64_t *handle);
/* False and no effect when the handle is not, or no longer, valid. */
bool handles_close(struct handles *handles, uint64_t handle);
/* The index of a handle that is or was valid. */
size_t handles_index(uint64_t handle);
/* Writes the open handles, handles->used of them. */
void handles_list(const struct handles *handles, uint64_t *open);

#endif
