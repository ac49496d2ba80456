/*
 * status_counts - the HTTP statuses that our programs answer with, and counters by status.
 *
 * Threads  Any, after status_counts_open().
 */
#ifndef COMMON_HTTP_STATUS_COUNTS_H
#define COMMON_HTTP_STATUS_COUNTS_H

#define STATUSES 16

/* The reason phrase of a status that our programs answer with; any other counts as 500. */
const char *reason_of(int status);

/* Counters of one kind of responses, by status. */
struct status_counts {
    struct metric *by_status[STATUSES];
};

/* Call before threads start, with *counts zeroed. `labels`: the labels before the status, each
   followed by a comma, or "". `never`: a status that the program does not answer with. */
void status_counts_open(struct status_counts *counts, const char *name, const char *labels,
                        int never);
/* Call for each response, from any thread. A status without a counter counts as 500. */
void status_counts_add(const struct status_counts *counts, int status);

#endif
