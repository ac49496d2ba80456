#include "common/edge/handles.h"

#include <stdlib.h>

#include "common/base/log.h"

struct handle_entry {
    uint64_t generation;
    uint32_t next_free;
    bool in_use;
};

void handles_init(struct handles *handles, size_t n)
{
    must(n > 0 && n <= HANDLES_MAX);
    *handles = (struct handles){.at = calloc(n, sizeof(struct handle_entry)), .n = n};
    must(handles->at != NULL);
    for (uint32_t i = 0; i < n; i++)
        handles->at[i].next_free = i + 1;
}

void handles_release(struct handles *handles)
{
    free(handles->at);
    handles->at = NULL;
}

static uint64_t handle_of(const struct handles *handles, size_t index)
{
    return handles->at[index].generation << 16 | index;
}

size_t handles_index(uint64_t handle)
{
    return handle & 0xffff;
}

bool handles_open(struct handles *handles, uint64_t *handle)
{
    struct handle_entry *entry;

    if (handles->free_first == handles->n)
        return false;
    entry = &handles->at[handles->free_first];
    *handle = handle_of(handles, handles->free_first);
    handles->free_first = entry->next_free;
    entry->in_use = true;
    handles->used++;
    return true;
}

bool handles_close(struct handles *handles, uint64_t handle)
{
    size_t index = handles_index(handle);
    struct handle_entry *entry;

    if (index >= handles->n || !handles->at[index].in_use || handle_of(handles, index) != handle)
        return false;
    entry = &handles->at[index];
    entry->in_use = false;
    entry->generation++;
    entry->next_free = handles->free_first;
    handles->free_first = (uint32_t)index;
    handles->used--;
    return true;
}

void handles_list(const struct handles *handles, uint64_t *open)
{
    for (size_t i = 0; i < handles->n; i++)
        if (handles->at[i].in_use)
            *open++ = handle_of(handles, i);
}
