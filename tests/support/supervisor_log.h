/*
 * supervisor_log - what the supervisor's log says of how processes ended.
 *
 * What     The supervisor starts again what has died, so that a crash goes unseen unless somebody reads
 *          this.
 * Threads  Any.
 */
#ifndef TESTS_SUPPORT_SUPERVISOR_LOG_H
#define TESTS_SUPPORT_SUPERVISOR_LOG_H

#include <stdbool.h>
#include <stddef.h>

/* How often a test has sent SIGKILL to a process. */
struct supervisor_log_kills {
    const char *process;
    int n;
};

/* Finds the first line that tells of an end which is none of these: with status 0; by SIGKILL, as
   often as the test has sent that; or, of PostgreSQL, with status 1 right after it was killed, when processes
   of its former life still hold the memory that they shared. */
bool supervisor_log_find_crash(const char *text, const struct supervisor_log_kills *kills, size_t n,
                               char line[256]);

#endif
