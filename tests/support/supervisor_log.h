/*
 * supervisor_log - how processes ended, according to the supervisor's log.
 *
 * What     The supervisor restarts processes that die, so a crash goes unnoticed unless a test
 *          reads its log.
 * Threads  Any.
 */
#ifndef TESTS_SUPPORT_SUPERVISOR_LOG_H
#define TESTS_SUPPORT_SUPERVISOR_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

/* How often a test has sent SIGKILL to a process. */
struct supervisor_log_kills {
    const char *process;
    int n;
};

/* When the disk of PostgreSQL was full. */
struct supervisor_log_span {
    time_t begin, end; /* end 0: it still is */
};

/* What a test has done to the processes. */
struct supervisor_log_done {
    const struct supervisor_log_kills *kills;
    size_t n_kills;
    const struct supervisor_log_span *full;
    size_t n_full;
};

/* Finds the first line about an unexpected end. Expected are: status 0; SIGKILL, as often as the
   test sent it; and, for PostgreSQL, status 1 right after it was killed, while processes of its
   previous run still hold its shared memory, and while its disk is full or right after that. */
bool supervisor_log_find_crash(const char *text, const struct supervisor_log_done *done,
                               char line[256]);

#endif
