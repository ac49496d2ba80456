#include "services/gateway/wait_list.h"

void wait_list_add(struct wait_entry *entry, struct list *list)
{
    list_add(list, &entry->link);
}

void wait_list_resume(struct list *list)
{
    struct wait_entry *entry;
    struct list now;

    /* Entries added again while they are resumed go into `list`, for the next time. */
    list_init(&now);
    list_add_all(&now, list);
    while ((entry = LIST_FIRST(&now, struct wait_entry, link)) != NULL) {
        list_remove(&entry->link);
        entry->resume(entry);
    }
}
