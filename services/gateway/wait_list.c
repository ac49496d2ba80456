#include "services/gateway/wait_list.h"

void wait_list_add(struct wait_entry *entry, h2o_linklist_t *list)
{
    h2o_linklist_insert(list, &entry->link);
}

void wait_list_remove(struct wait_entry *entry)
{
    if (h2o_linklist_is_linked(&entry->link))
        h2o_linklist_unlink(&entry->link);
}

void wait_list_resume(h2o_linklist_t *list)
{
    h2o_linklist_t now;

    /* Those who wait again while they are resumed do so in `list`, for the next time. */
    h2o_linklist_init_anchor(&now);
    h2o_linklist_insert_list(&now, list);
    while (!h2o_linklist_is_empty(&now)) {
        struct wait_entry *entry = H2O_STRUCT_FROM_MEMBER(struct wait_entry, link, now.next);

        wait_list_remove(entry);
        entry->resume(entry);
    }
}
