/*
 * log_writer - the thread that writes the log; for log.c and program.c.
 *
 * What     Lines wait in a ring of one megabyte for the thread, which puts as many into one
 *          write(2) as a pipe takes whole. Logging never waits for the reader of standard error:
 *          while the ring is full, lines are dropped and counted, and a line says how many as soon
 *          as there is nothing left to write before it. Warnings and errors are written at once,
 *          lower levels within 10 ms.
 *          At exit() the ring is written out, for half a second at most; also when a signal ends
 *          the process because of our own mistake (SIGABRT, SIGSEGV and their like), for a fifth
 *          of a second, without a line about lost ones.
 * Owns     The ring and the thread, until the process ends.
 * Threads  log_writer_start() once, before others exist; the rest from any.
 */
#ifndef COMMON_BASE_LOG_WRITER_H
#define COMMON_BASE_LOG_WRITER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_LINE_MAX PIPE_BUF /* a pipe keeps that much whole */

void log_writer_start(void);
bool log_writer_has_started(void);

/* One line, with its end. */
void log_writer_add(const char *line, size_t n, bool at_once);
/* By this thread, which waits for the reader. */
void log_writer_write(const char *line, size_t n);
uint64_t log_writer_dropped(void);

/* log.c: the line that says that so many were lost; its length. */
size_t log_format_lost(uint64_t lost, char out[LOG_LINE_MAX]);

#endif
