#include "common/http/send_budget.h"

void send_budget_init(struct send_budget *send_budget, size_t max)
{
    *send_budget = (struct send_budget){.max = max};
    list_init(&send_budget->entries);
}

void send_budget_add(struct send_budget *send_budget, struct send_budget_entry *entry, size_t n)
{
    if (n < SEND_BUDGET_SMALLEST)
        return;
    entry->n = n;
    send_budget->n += n;
    list_add(&send_budget->entries, &entry->link);
}

void send_budget_remove(struct send_budget *send_budget, struct send_budget_entry *entry)
{
    if (!list_is_linked(&entry->link))
        return;
    send_budget->n -= entry->n;
    list_remove(&entry->link);
}

struct send_budget_entry *send_budget_excess(struct send_budget *send_budget)
{
    struct send_budget_entry *oldest;

    if (send_budget->n <= send_budget->max)
        return NULL;
    oldest = LIST_FIRST(&send_budget->entries, struct send_budget_entry, link);
    send_budget_remove(send_budget, oldest);
    return oldest;
}
