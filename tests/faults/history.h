/*
 * history - what happened during a run, as lines of JSON, for check_history.
 *
 * What     A line for each request with its response, each fault, each delivery received, and each
 *          read after the run. Times are clock_mono_us(). check_history describes the lines.
 * Owns     history_write() takes over its argument.
 * Threads  Any.
 * Fails    Fails the test.
 */
#ifndef TESTS_FAULTS_HISTORY_H
#define TESTS_FAULTS_HISTORY_H

#include <jansson.h>

/* One history at a time; while none is open, lines are discarded. */
void history_open(const char *path);
void history_write(json_t *line);
void history_close(void);

#endif
