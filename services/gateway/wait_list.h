/*
 * wait_list - requests that wait for the same thing.
 *
 * Owns     Nothing: an entry is a member of what waits, which removes it from its list if it ends first.
 * Threads  The loop's.
 */
#ifndef SERVICES_GATEWAY_WAIT_LIST_H
#define SERVICES_GATEWAY_WAIT_LIST_H

#include "common/base/list.h"

struct wait_entry {
    struct list link;
    /* Called when the entry is in no list; it may be added again. */
    void (*resume)(struct wait_entry *entry);
};

void wait_list_add(struct wait_entry *entry, struct list *list);
void wait_list_resume(struct list *list);

#endif
