/*
 * log_writer - the thread that writes the log; for log.c and program.c.
 *
 * What     Lines wait in a ring of one megabyte for the thread, which puts as many into one
 *          write(2) as a pipe takes atomically. Logging never waits for the reader of standard
 *          error: while the ring is full, lines are dropped and counted, and a line reports how many
 *          once the ring is empty. Warnings and errors are written at once, lower levels within
 *          10 ms.
 *          At exit() the ring is written out, for half a second at most. It is also written out when
 *          a signal such as SIGABRT or SIGSEGV ends the process because of a bug, for a fifth of a
 *          second and without the line about lost lines.
 * Owns     The ring and the thread, until the process ends.
 * Threads  log_writer_start() once, before others exist; the rest from any.
 */
#ifndef COMMON_BASE_LOG_WRITER_H
#define COMMON_BASE_LOG_WRITER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_LINE_MAX PIPE_BUF /* a pipe takes that much atomically */

void log_writer_start(void);
bool log_writer_has_started(void);

/* Adds one line, with its line feed. */
void log_writer_add(const char *line, size_t n, bool at_once);
/* Writes on the calling thread, which waits for the reader. */
void log_writer_write(const char *line, size_t n);
uint64_t log_writer_dropped(void);

/* In log.c: formats the line that reports that many lost lines; returns its length. */
size_t log_format_lost(uint64_t lost, char out[LOG_LINE_MAX]);

#endif
