/*
 * metrics_process - the version of this process, what the kernel knows of it, under the names that
 * Prometheus' own clients use, and the lines that the log had to drop.
 *
 * Threads  Any.
 */
#ifndef COMMON_BASE_METRICS_PROCESS_H
#define COMMON_BASE_METRICS_PROCESS_H

#include "common/base/buf.h"

void metrics_render_process(struct buf *out);

#endif
