/*
 * wait_list - requests that wait in a list until what they wait for is there.
 *
 * Owns     Nothing; an entry is part of what waits.
 * Threads  The gateway's loop.
 */
#ifndef GATEWAY_WAIT_LIST_H
#define GATEWAY_WAIT_LIST_H

#include <h2o.h>

struct wait_entry {
    h2o_linklist_t link;
    /* The entry is in no list then and may be added again. */
    void (*resume)(struct wait_entry *entry);
};

void wait_list_add(struct wait_entry *entry, h2o_linklist_t *list);
void wait_list_remove(struct wait_entry *entry); /* from whatever list it is in, if any */
void wait_list_resume(h2o_linklist_t *list);

#endif
