/*
 * send_budget - bounds the memory that large responses occupy until their clients have taken them.
 *
 * What     One budget for each event loop. A client that reads nothing is cut off after some
 *          seconds, and within these a few of them could be owed more than there is memory. Above
 *          the budget the responses that have waited longest are given up first. Small responses,
 *          which sockets take at once, are not counted.
 * Owns     Nothing: an entry lives in its edge_request, zeroed before its first use.
 * Threads  The loop's.
 */
#ifndef COMMON_HTTP_SEND_BUDGET_H
#define COMMON_HTTP_SEND_BUDGET_H

#include <h2o.h>

#define SEND_BUDGET_SMALLEST ((size_t)64 * 1024)

struct send_budget_entry {
    h2o_linklist_t link;
    size_t n;
};

struct send_budget {
    h2o_linklist_t entries; /* oldest first */
    size_t n, max;
};

void send_budget_init(struct send_budget *send_budget, size_t max);
/* The response is about to be sent. */
void send_budget_add(struct send_budget *send_budget, struct send_budget_entry *entry, size_t n);
/* The response was taken or given up; an entry that was never added is fine. */
void send_budget_remove(struct send_budget *send_budget, struct send_budget_entry *entry);
/* One that is to be given up, removed already; NULL: all are within the budget. */
struct send_budget_entry *send_budget_excess(struct send_budget *send_budget);

#endif
