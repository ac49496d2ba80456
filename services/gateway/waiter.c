#include "services/gateway/waiter.h"

void waiter_wait(struct waiter *waiter, h2o_linklist_t *list)
{
    h2o_linklist_insert(list, &waiter->link);
}

void waiter_leave(struct waiter *waiter)
{
    if (h2o_linklist_is_linked(&waiter->link))
        h2o_linklist_unlink(&waiter->link);
}

void waiters_resume(h2o_linklist_t *list)
{
    h2o_linklist_t now;

    /* Those who wait again while they are resumed do so in `list`, for the next time. */
    h2o_linklist_init_anchor(&now);
    h2o_linklist_insert_list(&now, list);
    while (!h2o_linklist_is_empty(&now)) {
        struct waiter *waiter = H2O_STRUCT_FROM_MEMBER(struct waiter, link, now.next);

        waiter_leave(waiter);
        waiter->resume(waiter);
    }
}
