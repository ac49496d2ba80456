#include "common/edge/slots.h"

#include <stdlib.h>

#include "common/base/log.h"

struct slot {
    uint64_t generation;
    uint32_t next_free;
    bool in_use;
};

void slots_init(struct slots *slots, size_t n)
{
    must(n > 0 && n <= SLOTS_MOST);
    *slots = (struct slots){.at = calloc(n, sizeof(struct slot)), .n = n};
    must(slots->at != NULL);
    for (uint32_t i = 0; i < n; i++)
        slots->at[i].next_free = i + 1;
}

void slots_release(struct slots *slots)
{
    free(slots->at);
    slots->at = NULL;
}

static uint64_t token_of(const struct slots *slots, size_t index)
{
    return slots->at[index].generation << 16 | index;
}

size_t slots_place(uint64_t token)
{
    return token & 0xffff;
}

bool slots_take(struct slots *slots, uint64_t *token)
{
    struct slot *slot;

    if (slots->free_first == slots->n)
        return false;
    slot = &slots->at[slots->free_first];
    *token = token_of(slots, slots->free_first);
    slots->free_first = slot->next_free;
    slot->in_use = true;
    slots->used++;
    return true;
}

bool slots_give_back(struct slots *slots, uint64_t token)
{
    size_t place = slots_place(token);
    struct slot *slot;

    if (place >= slots->n || !slots->at[place].in_use || token_of(slots, place) != token)
        return false;
    slot = &slots->at[place];
    slot->in_use = false;
    slot->generation++;
    slot->next_free = slots->free_first;
    slots->free_first = (uint32_t)place;
    slots->used--;
    return true;
}

void slots_list(const struct slots *slots, uint64_t *tokens)
{
    for (size_t i = 0; i < slots->n; i++)
        if (slots->at[i].in_use)
            *tokens++ = token_of(slots, i);
}
