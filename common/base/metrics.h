/*
 * metrics - counters, gauges and histograms in the Prometheus text format.
 *
 * What     A process registers its metrics at start and keeps the pointers. Updating is one atomic
 *          add. A metric is one time series: name, optional label set (written out, `a="b",c="d"`).
 *          Series of one name are registered next to each other and share help and type. Names of
 *          counters end in _total, those of durations in _seconds: must() sees to all of it.
 *          metrics_render() adds those of the process itself: its version, what the kernel knows of
 *          it (processor time, start, memory) under the names that Prometheus' own clients use,
 *          threads that hang, and the lines that the log had to drop.
 *          A list is one metric whose series come and go: few of many things, told all at once.
 * Owns     The registry, names and labels, until the process ends. Help is kept, not copied.
 * Threads  Register before threads start; update and render from any.
 */
#ifndef COMMON_BASE_METRICS_H
#define COMMON_BASE_METRICS_H

#include <stdint.h>

#include "common/base/buf.h"

struct metric;

struct metric *metric_counter(const char *name, const char *labels, const char *help);
struct metric *metric_gauge(const char *name, const char *labels, const char *help);
/* Durations: buckets from 100 us to 10 s, rendered in seconds. */
struct metric *metric_histogram_seconds(const char *name, const char *labels, const char *help);
/* Sizes: buckets 1, 2, 4 ... 1024. */
struct metric *metric_histogram_count(const char *name, const char *labels, const char *help);

/* Not rendered before it has counted or observed something: of the many that seldom or never do. An
   alert must not count on one, since the first event of a series that was not there makes no rate. */
void metric_show_when_used(struct metric *metric);

void metric_add(struct metric *metric, int64_t n);
void metric_set(struct metric *metric, int64_t value);
/* Microseconds, or a count; a negative value is ignored. */
void metric_observe(struct metric *metric, int64_t value);

int64_t metric_read(const struct metric *metric); /* of a histogram: the sum of its values */

/* A gauge for each of the things that matter at the moment, named by its labels, such as an id. What
   is told replaces what was told before; of more than METRIC_LISTED_MAX the first ones are kept, so
   that nothing outside can make series without end. */
#define METRIC_LISTED_MAX 20
#define METRIC_LABELS_MAX 160

struct metric_series {
    char labels[METRIC_LABELS_MAX];
    int64_t value;
};

struct metric *metric_gauge_list(const char *name, const char *help);
void metric_list(struct metric *metric, const struct metric_series *series, size_t n);

/* Once, before anything is rendered: the label `cell` of conversations_build_info. Kept; NULL: none. */
void metrics_name_cell(const char *cell);

/* Prometheus text exposition format 0.0.4. */
void metrics_render(struct buf *out);

#endif
