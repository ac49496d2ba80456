/*
 * send_budget - limits the memory that large responses occupy until their clients have read them.
 *
 * What     One budget for each event loop. A client that reads nothing is cut off after some seconds,
 *          but until then a few of them could need more memory than there is. Above the budget, the
 *          responses that have waited longest are dropped first. Small responses, which sockets take
 *          at once, do not count.
 * Owns     Nothing; an entry is a member of its response's request.
 * Threads  The loop's.
 */
#ifndef COMMON_HTTP_SEND_BUDGET_H
#define COMMON_HTTP_SEND_BUDGET_H

#include <stddef.h>

#include "common/base/list.h"

#define SEND_BUDGET_SMALLEST ((size_t)64 * 1024)

/* One response that waits; zeroed before its first use. */
struct send_budget_entry {
    struct list link;
    size_t n; /* bytes */
};

struct send_budget {
    struct list entries; /* oldest first */
    size_t n, max;       /* bytes */
};

void send_budget_init(struct send_budget *send_budget, size_t max);
/* Call when the response is about to be sent. */
void send_budget_add(struct send_budget *send_budget, struct send_budget_entry *entry, size_t n);
/* Call when the client has read the response or it was dropped; an entry that was never added is
   fine. */
void send_budget_remove(struct send_budget *send_budget, struct send_budget_entry *entry);
/* The next response to drop, already removed; NULL: all are within the budget. */
struct send_budget_entry *send_budget_excess(struct send_budget *send_budget);

#endif
