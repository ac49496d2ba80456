/*
 * process - what every long-running program does first, once its log is open.
 *
 * Threads  The main thread, before any other exists: they inherit what is set here.
 * Fails    Never; what the system refuses is left as it was.
 */
#ifndef COMMON_BASE_PROCESS_H
#define COMMON_BASE_PROCESS_H

#include <signal.h>

/* Has the log written by a thread (log_writer.h) and logs which version starts. Then no core dumps,
   for memory holds secrets; no SIGPIPE, for a peer that is gone is an error of write(). SIGTERM and
   SIGINT, put into *ends, are blocked, so that sigwait() gets them. */
void process_prepare(sigset_t *ends);

#endif
