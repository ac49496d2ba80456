#include "common/edge/held.h"

void held_init(struct held *held, size_t most)
{
    *held = (struct held){.most = most};
    h2o_linklist_init_anchor(&held->answers);
}

void held_add(struct held *held, struct held_answer *answer, size_t n)
{
    if (n < HELD_LEAST)
        return;
    answer->n = n;
    held->n += n;
    h2o_linklist_insert(&held->answers, &answer->link);
}

void held_drop(struct held *held, struct held_answer *answer)
{
    if (!h2o_linklist_is_linked(&answer->link))
        return;
    held->n -= answer->n;
    h2o_linklist_unlink(&answer->link);
}

struct held_answer *held_excess(struct held *held)
{
    struct held_answer *oldest;

    if (held->n <= held->most)
        return NULL;
    oldest = H2O_STRUCT_FROM_MEMBER(struct held_answer, link, held->answers.next);
    held_drop(held, oldest);
    return oldest;
}
