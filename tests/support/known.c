#include "tests/support/known.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void known_init(struct known_list *list, unsigned capacity)
{
    *list =
        (struct known_list){.ring = calloc(capacity, sizeof(*list->ring)), .capacity = capacity};
    cr_assert_not_null(list->ring);
    /* calloc() alone would take the memory page by page, later. */
    explicit_bzero(list->ring, capacity * sizeof(*list->ring));
    pthread_mutex_init(&list->lock, NULL);
}

void known_release(struct known_list *list)
{
    free(list->ring);
    pthread_mutex_destroy(&list->lock);
}

void known_add(struct known_list *list, const char *id, unsigned number)
{
    struct known *known;

    pthread_mutex_lock(&list->lock);
    known = &list->ring[list->n++ % list->capacity];
    snprintf(known->id, sizeof(known->id), "%s", id);
    known->number = number;
    pthread_mutex_unlock(&list->lock);
}

bool known_pick(struct known_list *list, unsigned choice, unsigned among, struct known *out)
{
    unsigned n;

    pthread_mutex_lock(&list->lock);
    n = list->n < list->capacity ? list->n : list->capacity;
    if (n > among)
        n = among;
    if (n > 0)
        *out = list->ring[(list->n - 1 - choice % n) % list->capacity];
    pthread_mutex_unlock(&list->lock);
    return n > 0;
}
