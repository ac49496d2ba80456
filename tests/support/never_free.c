#include "tests/support/never_free.h"

#include <stdbool.h>
#include <stdlib.h>

struct kept {
    struct kept *next;
    void *block;
};

static struct kept *all;

void *never_free(void *block)
{
    struct kept *one = malloc(sizeof(*one));

    if (one == NULL)
        abort();
    one->block = block;
    one->next = __atomic_load_n(&all, __ATOMIC_ACQUIRE);
    while (!__atomic_compare_exchange_n(&all, &one->next, one, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
        continue;
    return block;
}
