#include "common/http/status_counts.h"

#include <stdio.h>

#include "common/base/metrics.h"

/* Every status that our programs answer with; the last one stands for any other. */
static const struct {
    int status;
    const char *reason;
} statuses[STATUSES] = {
    {200, "OK"},
    {201, "Created"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {409, "Conflict"},
    {413, "Content Too Large"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {429, "Too Many Requests"},
    {503, "Service Unavailable"},
    {500, "Internal Server Error"},
};

static size_t index_of(int status)
{
    size_t i = 0;

    while (i < STATUSES - 1 && statuses[i].status != status)
        i++;
    return i;
}

const char *reason_of(int status)
{
    return statuses[index_of(status)].reason;
}

void status_counts_open(struct status_counts *counts, const char *name, const char *labels,
                        int never)
{
    char all[96];

    for (size_t i = 0; i < STATUSES; i++) {
        if (statuses[i].status == never)
            continue;
        snprintf(all, sizeof(all), "%sstatus=\"%d\"", labels, statuses[i].status);
        counts->by_status[i] = metric_counter(name, all, "Requests answered");
    }
}

void status_counts_add(const struct status_counts *counts, int status)
{
    struct metric *of_status = counts->by_status[index_of(status)];

    metric_add(of_status != NULL ? of_status : counts->by_status[STATUSES - 1], 1);
}
