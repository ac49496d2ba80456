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

/* How often a test has sent SIGKILL to a process, and whether it has filled its disk. */
struct supervisor_log_kills {
    const char *process;
    int n;
    bool had_full_disk;
};

/* Finds the first line about an unexpected end. Expected are: status 0; SIGKILL, as often as the
   test sent it; and, for PostgreSQL, status 1 right after it was killed, while processes of its
   previous run still hold its shared memory, or whenever its disk was filled. */
bool supervisor_log_find_crash(const char *text, const struct supervisor_log_kills *kills, size_t n,
                               char line[256]);

#endif
