/*
 * no_answer - what became of a process that left a request unanswered.
 *
 * What     Whether it lives, or how it ended, and the end of its log: a message about the request
 *          alone does not tell a crash from a connection that was closed.
 * Threads  Any; noting is the main thread's.
 */
#ifndef TESTS_SUPPORT_NO_ANSWER_H
#define TESTS_SUPPORT_NO_ANSWER_H

#include <sys/types.h>

/* Notes a process that the test has started, its port, and the path of its log, which stays. */
void no_answer_note(int port, pid_t pid, const char *log);
/* About the process at the URL, one that was noted or a gateway or dashboard of the stack: lines,
   each after a line feed; "" = it is none of them. Valid until the test ends. */
const char *no_answer_from(const char *url);

#endif
